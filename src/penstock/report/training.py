"""A training run as one HTML page that needs nothing else: loss, accuracy, waiting for data, and the numbers below.

Made from the log's lines alone, so it can be made again at any time, also of a run that was killed. A run that was
resumed has some epochs twice in its log; the later one counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["training_page", "write_page"]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 300, 64, 130, 12, 40
STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1b2430, #e7ecf2); --soft: light-dark(#556070, #a3afbd);
  --paper: light-dark(#fff, #12171e); --rule: light-dark(#dde3ea, #2c3643);
  --train: light-dark(#0072b2, #56b4e9); --held: light-dark(#a83f00, #ff9d5c); }
body { margin: 0 auto; max-width: 960px; padding: 32px 24px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
.soft, .tick { color: var(--soft); fill: var(--soft); font-size: 14px; }
figure { margin: 8px 0 32px; overflow-x: auto; }
svg { width: 100%; min-width: 560px; height: auto; font: 13px system-ui, sans-serif; fill: var(--ink); }
.grid { stroke: var(--rule); } polyline { fill: none; stroke-width: 2.5; }
polyline.train { stroke: var(--train); } polyline.held { stroke: var(--held); stroke-dasharray: 7 3; }
circle.train { fill: var(--train); } circle.held { fill: var(--held); }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 5px 8px; border-bottom: 1px solid var(--rule); white-space: nowrap; }
.scroll { overflow-x: auto; }
"""


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over time, in epochs."""

    name: str
    kind: str  # "train" or "held": how it is drawn
    points: tuple[tuple[float, float], ...]


def write_page(path: str | os.PathLike[str], entries: Iterable[Mapping[str, Any]]) -> None:
    """Write the page of a log's lines."""
    Path(path).write_text(training_page(entries), "utf-8")


def training_page(entries: Iterable[Mapping[str, Any]]) -> str:
    """Lay out a run as a page."""
    log = list(entries)
    options: Mapping[str, Any] = next((one for one in reversed(log) if one["kind"] == "options"), {})
    epochs, held = ({one["epoch"]: one for one in log if one["kind"] == kind} for kind in ("epoch", "validation"))
    lines = {(one["epoch"], one["step"]): one for one in log if one["kind"] == "line"}
    figures = [
        ("Loss", "", _both(lines, epochs, held, "Loss")),
        ("Prec@1", "%", _both(lines, epochs, held, "Prec@1")),
        ("Waiting for data", "% of the time", [_of_epochs(epochs, "waiting", "stall_share", 100.0)]),
        ("Longest wait for a batch", "s", [_of_epochs(epochs, "waiting", "longest_stall_seconds")]),
        ("Samples per second", "", [_of_epochs(epochs, "training", "samples_per_second")]),
    ]
    plots = "".join(_figure(title, unit, [one for one in curves if one.points]) for title, unit, curves in figures)
    said = [one["verdict"] for one in log if one["kind"] == "verdict"][:1]
    said += [one["reason"] for one in log if one["kind"] == "end"][-1:]
    title = f"Training {options.get('arch', '')}".strip()
    told = [name for name in ("data", "data_loader", "ranks", "seed") if name in options]
    about = " · ".join(f"{name} {options[name]}" for name in told)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        f'<p class="soft">{escape(about)}</p>'
        + "".join(f"<p>{escape(one)}</p>" for one in said)
        + plots
        + _table(epochs, held)
        + "</main></body></html>\n"
    )


def _both(
    lines: Mapping[tuple[int, int], Mapping[str, Any]],
    epochs: Mapping[int, Mapping[str, Any]],
    held: Mapping[int, Mapping[str, Any]],
    name: str,
) -> list[Curve]:
    """Give a value while training, line by line, and on the held-out data, epoch by epoch."""
    longest = max((step for _, step in lines), default=1)
    most = {epoch: one["steps"] for epoch, one in epochs.items()}
    while_training = tuple(
        (epoch + step / most.get(epoch, longest), float(one["latest"][name]))
        for (epoch, step), one in sorted(lines.items())
    )
    return [Curve("training", "train", while_training), _of_epochs(held, "validation", name, kind="held")]


def _of_epochs(
    entries: Mapping[int, Mapping[str, Any]], name: str, value: str, times: float = 1.0, *, kind: str = "train"
) -> Curve:
    points = tuple((epoch + 1.0, float(one[value]) * times) for epoch, one in sorted(entries.items()) if value in one)
    return Curve(name, kind, points)


def _ticks(low: float, high: float) -> list[float]:
    """Choose about five round numbers between two."""
    rough = (high - low) / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    return [step * number for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _figure(title: str, unit: str, curves: Sequence[Curve]) -> str:
    """Draw curves over epochs, each named at its end with its last value."""
    points = [point for curve in curves for point in curve.points if math.isfinite(point[1])]
    if not points:
        return ""
    last = max(1.0, *(x for x, _ in points))
    low, high = min(0.0, *(y for _, y in points)), max(y for _, y in points)
    high = high if high > low else low + 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - RIGHT) * x / last
        return across, TOP + (HEIGHT - TOP - BOTTOM) * (1 - (y - low) / (high - low))

    parts = []
    for tick in _ticks(low, high):
        y = place(0, tick)[1]
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" class="tick">{tick:g}</text>')
    for tick in _ticks(0, last):
        x = place(tick, low)[0]
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" class="tick">{tick:g}</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 4}" class="tick">epochs</text>')
    free = 0.0  # names are moved down so far that none lies on another
    for curve in sorted(curves, key=lambda one: -one.points[-1][1]):
        drawn = [place(x, y) for x, y in curve.points if math.isfinite(y)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        parts.append(f'<polyline points="{path}" class="{curve.kind}"/>')
        x, y = drawn[-1]
        free = max(free + 17, y + 4)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="{curve.kind}"/>')
        parts.append(f'<text x="{x + 9:.1f}" y="{free:.1f}">{escape(curve.name)} {curve.points[-1][1]:.4g}</text>')
    heading = f"{title}, {unit}" if unit else title
    drawing = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(heading)} over epochs">'
    return f"<h2>{escape(heading)}</h2><figure>{drawing}{''.join(parts)}</svg></figure>"


def _table(epochs: Mapping[int, Mapping[str, Any]], held: Mapping[int, Mapping[str, Any]]) -> str:
    """Give the same numbers, epoch by epoch."""
    head = ("epoch", "loss", "Prec@1", "held-out loss", "Prec@1", "Prec@5", "s", "samples/s", "waiting", "longest, s")
    rows = []
    for epoch in sorted({*epochs, *held}):
        one, other = epochs.get(epoch, {}), held.get(epoch, {})
        cells = [
            str(epoch),
            *(_shown(one, name, "{:.4f}" if name == "Loss" else "{:.2f}") for name in ("Loss", "Prec@1")),
            *(_shown(other, name, "{:.4f}" if name == "Loss" else "{:.2f}") for name in ("Loss", "Prec@1", "Prec@5")),
            _shown(one, "seconds_taken", "{:.1f}"),
            _shown(one, "samples_per_second", "{:,.0f}"),
            _shown(one, "stall_share", "{:.1%}"),
            _shown(one, "longest_stall_seconds", "{:.3f}"),
        ]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    return f'<h2>Numbers</h2><div class="scroll"><table><tr>{header}</tr>{"".join(rows)}</table></div>'


def _shown(entry: Mapping[str, Any], name: str, form: str) -> str:
    return form.format(entry[name]) if name in entry else "-"
