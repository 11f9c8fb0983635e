"""Plots as SVG text: bars with every round's dot, ratios with their intervals, rates by round. Pure.

Colours are Okabe and Ito's, which people with any colour vision can tell apart, and come from the page's style sheet by
class, so that one drawing serves a light and a dark page; meaning never hangs on colour alone, since each mark stands
beside its name and value. Values are printed: a plot is read, not guessed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Bar", "Interval", "Line", "bars", "intervals", "lines", "ticks"]

WIDTH = 860
LEFT = 270  # room for names
RIGHT = 96  # room for printed values
ROW = 34
AXIS = 34


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a bar plot."""

    name: str
    value: float
    dots: tuple[float, ...]
    kind: str  # "ours", "ceiling" or "other": the class in the style sheet
    printed: str


@dataclass(frozen=True, slots=True)
class Interval:
    """One row of a plot of ratios."""

    name: str
    value: float
    low: float
    high: float
    dots: tuple[float, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot over rounds; None where a round failed."""

    name: str
    values: tuple[float | None, ...]
    kind: str


def ticks(top: float, about: int = 5) -> list[float]:
    """Choose round numbers from 0 to at least `top`."""
    if top <= 0:
        return [0.0, 1.0]
    rough = top / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    return [step * number for number in range(math.ceil(top / step - 1e-9) + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title, quote=True)}">'
    return head + f"<title>{escape(title)}</title>" + "".join(parts) + "</svg>"


def _shorten(name: str, longest: int = 36) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


def bars(rows: Sequence[Bar], *, title: str, unit: str) -> str:
    """Draw horizontal bars from zero, a dot per round on each, the value printed at the right."""
    marks = ticks(max(max(row.value, *row.dots, 0) for row in rows))
    scale = (WIDTH - LEFT - RIGHT) / marks[-1]
    bottom = ROW * len(rows) + 6
    parts = []
    for mark in marks:
        x = LEFT + mark * scale
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}" class="grid"/>')
        parts.append(_text(x, bottom + 17, _number(mark), "tick", "middle"))
    parts.append(_text(WIDTH, bottom + 17, unit, "tick", "end"))
    for number, row in enumerate(rows):
        y = ROW * number + 6
        parts.append(_text(LEFT - 12, y + 16, _shorten(row.name), f"name {row.kind}", "end"))
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{row.value * scale:.1f}" height="22" rx="3" class="bar {row.kind}"/>'
        )
        parts += [f'<circle cx="{LEFT + dot * scale:.1f}" cy="{y + 11}" r="3" class="dot"/>' for dot in row.dots]
        end = LEFT + max((row.value, *row.dots)) * scale
        parts.append(_text(end + 10, y + 16, row.printed, f"value {row.kind}"))
    return _svg(bottom + AXIS, title, parts)


def intervals(rows: Sequence[Interval], *, title: str, base: str) -> str:
    """Draw ratios on a doubling axis: interval and median per row, a dot per round, a line where both are equal."""
    least = min(1.0, *(min(row.low, *row.dots) for row in rows))
    most = max(1.0, *(max(row.high, *row.dots) for row in rows))
    first, last = math.floor(math.log2(least) * 2) / 2, math.ceil(math.log2(most) * 2) / 2
    scale = (WIDTH - LEFT - RIGHT) / max(last - first, 0.5)

    def place(ratio: float) -> float:
        return LEFT + (math.log2(ratio) - first) * scale

    bottom = ROW * len(rows) + 6
    parts = []
    for half in range(math.ceil(first * 2), math.floor(last * 2) + 1):
        ratio = 2 ** (half / 2)
        if half % 2 and last - first > 4:
            continue
        parts.append(f'<line x1="{place(ratio):.1f}" x2="{place(ratio):.1f}" y1="0" y2="{bottom}" class="grid"/>')
        parts.append(_text(place(ratio), bottom + 17, f"{ratio:.3g}x", "tick", "middle"))
    parts.append(f'<line x1="{place(1):.1f}" x2="{place(1):.1f}" y1="0" y2="{bottom}" class="equal"/>')
    for number, row in enumerate(rows):
        y = ROW * number + 17
        parts.append(_text(LEFT - 12, y + 5, _shorten(row.name), f"name {row.kind}", "end"))
        parts.append(
            f'<line x1="{place(row.low):.1f}" x2="{place(row.high):.1f}" y1="{y}" y2="{y}" class="whisker {row.kind}"/>'
        )
        parts += [f'<circle cx="{place(dot):.1f}" cy="{y}" r="2.5" class="dot"/>' for dot in row.dots]
        x = place(row.value)
        parts.append(f'<path d="M{x - 7:.1f} {y}l7 -7l7 7l-7 7z" class="bar {row.kind}"/>')
        end = place(max(row.high, *row.dots)) + 12
        parts.append(_text(end, y + 5, f"{row.value:.2f}x", f"value {row.kind}"))
    parts.append(_text(0, bottom + 17, f"times {base}", "tick"))
    return _svg(bottom + AXIS, title, parts)


def lines(rows: Sequence[Line], *, title: str, unit: str) -> str:
    """Draw values by round, each line named at its right end; lines that lean together show the machine drifting."""
    height, left, right = 300, 64, 230
    rounds = max(len(row.values) for row in rows)
    marks = ticks(max(value for row in rows for value in row.values if value is not None))
    step = (WIDTH - left - right) / max(rounds - 1, 1)

    def at(number: int, value: float) -> tuple[float, float]:
        return left + step * number, 10 + height * (1 - value / marks[-1])

    parts = []
    for mark in marks:
        y = at(0, mark)[1]
        parts.append(f'<line x1="{left}" x2="{WIDTH - right}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(_text(left - 8, y + 4, _number(mark), "tick", "end"))
    parts += [_text(at(n, 0)[0], height + 30, f"round {n + 1}", "tick", "middle") for n in range(rounds)]
    ends = []
    for row in rows:
        points = [at(number, value) for number, value in enumerate(row.values) if value is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" class="line {row.kind}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="bar {row.kind}"/>' for x, y in points]
        ends.append((points[-1][1], row))
    free = 0.0  # names are moved down so far that none lies on another
    for y, row in sorted(ends, key=lambda end: end[0]):
        free = max(free + 17, y)
        parts.append(_text(WIDTH - right + 12, free + 4, _shorten(row.name, 34), f"name {row.kind}"))
    parts.append(_text(left, height + 52, unit, "tick"))
    return _svg(max(height + 62, free + 12), title, parts)
