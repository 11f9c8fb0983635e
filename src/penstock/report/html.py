"""A race as one HTML page that needs nothing else: no network, no script; plots and the raw result are inside."""

from __future__ import annotations

import base64
import json
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from penstock.bench import Ratio, Standing, ratios, standings
from penstock.report.doubts import doubts
from penstock.report.plot import Bar, Interval, Line, bars, intervals, lines
from penstock.report.words import caption, gigabytes, interval, is_ceiling, is_ours

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["page"]

LEGEND = (
    '<div class="legend"><span><i style="background:var(--ours)"></i>penstock</span>'
    '<span><i style="background:var(--other)"></i>other loaders</span>'
    '<span><i style="border:1.5px dashed var(--ceiling)"></i>bounds, not loaders</span></div>'
)
STYLE = resources.files("penstock.report").joinpath("page.css").read_text("utf-8")


def _kind(peer: str) -> str:
    return "ours" if is_ours(peer) else "ceiling" if is_ceiling(peer) else "other"


def _label(standing: Standing) -> str:
    """Name a standing; a peer raced against itself has its number added."""
    twin = standing.peer.partition("#")[2]
    return f"{standing.label}, run {twin}" if twin else standing.label


def _table(head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], kind: str = "") -> str:
    header = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f'<tr class="{row_kind}">' + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for row_kind, cells in rows
    )
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _figure(heading: str, words: str, drawing: str) -> str:
    return f'<h2>{escape(heading)}</h2><p class="soft">{escape(words)}</p><figure>{drawing}</figure>'


def _cards(ranked: Sequence[Standing], times: Mapping[str, Ratio], base: str) -> str:
    cards = []
    for standing in ranked:
        if is_ours(standing.peer) and "#" not in standing.peer and standing.rate and standing.peer in times:
            ratio = times[standing.peer]
            cards.append((f"{ratio.median:.2f}x", f"{standing.label}, times {base}"))
            cards.append((f"{standing.rate:,.0f}", f"images per second, {standing.label}"))
    return "".join(f'<div class="card"><b>{escape(b)}</b><span>{escape(s)}</span></div>' for b, s in cards[:4])


def _plots(result: Mapping[str, Any], done: Sequence[Standing], times: Mapping[str, Ratio], base: Standing) -> str:
    parts = [
        _figure(
            "Images per second",
            "Bars: the median of the rounds. Dots: each round.",
            bars(
                [Bar(_label(s), s.rate or 0, s.rates, _kind(s.peer), f"{s.rate:,.0f}") for s in done],
                title="Images per second by loader",
                unit="img/s",
            ),
        )
    ]
    compared = [(s, times[s.peer]) for s in done if s.peer in times]
    if compared:
        rows = []
        for standing, ratio in compared:
            low, high = ratio.interval or (min(ratio.by_round), max(ratio.by_round))
            rows.append(Interval(_label(standing), ratio.median, low, high, ratio.by_round, _kind(standing.peer)))
        words = "Rates of the same round compared; diamond: median, line: 95 % interval, dots: each round."
        drawing = intervals(rows, title=f"Ratio to {base.label}", base=base.peer)
        parts.append(_figure(f"Times as fast as {base.label}", words, drawing))
    costs = [(s, s.cpu_seconds_per_thousand) for s in done if s.cpu_seconds_per_thousand is not None]
    if costs:
        rows_cpu = [Bar(_label(s), cpu, (), _kind(s.peer), f"{cpu:.2f}") for s, cpu in costs]
        words = "Processor time of all the loader's processes and threads for one delivered image; less is better."
        parts.append(_figure("Processor time per image", words, bars(rows_cpu, title="CPU ms per image", unit="ms")))
    if result["rounds"] > 1:
        by_round = {(run["peer"], run["round"]): run.get("rate") for run in result["runs"]}
        rows_line = [
            Line(s.peer, tuple(by_round[s.peer, number] for number in range(result["rounds"])), _kind(s.peer))
            for s in done
        ]
        words = "Lines that lean together: the machine changed speed. One that leans alone: its loader did."
        parts.append(_figure("Round by round", words, lines(rows_line, title="Rates by round", unit="img/s")))
    return "".join(parts)


def _numbers(ranked: Sequence[Standing], times: Mapping[str, Ratio], base: Standing) -> str:
    head = (
        "loader",
        "img/s",
        "lowest-highest",
        f"times {base.peer}",
        "95 %",
        "CPU ms/img",
        "first batch, s",
        "memory, GB",
    )
    rows = []
    for s in ranked:
        if s.rate is None:
            rows.append((_kind(s.peer), (_label(s), "did not finish", *[""] * 6)))
            continue
        ratio = times.get(s.peer)
        cells = (
            _label(s),
            f"{s.rate:,.0f}",
            f"{min(s.rates):,.0f}-{max(s.rates):,.0f}",
            f"{ratio.median:.2f}" if ratio else "1",
            interval(ratio) if ratio else "",
            "-" if s.cpu_seconds_per_thousand is None else f"{s.cpu_seconds_per_thousand:.2f}",
            "-" if s.first_batch_seconds is None else f"{s.first_batch_seconds:.2f}",
            gigabytes(s.memory_bytes),
        )
        rows.append((_kind(s.peer), cells))
    return "<h2>All numbers</h2>" + _table(head, rows)


def _method(result: Mapping[str, Any]) -> str:
    case, machine = result["case"], result["machine"]
    words = (
        f"Every run is a fresh process bound to the same {case['workers']} CPUs. Each round runs every peer once, in "
        "an order drawn anew. The first epoch of a run is not counted; the rate is all samples of the other "
        f"{case['epochs']} over their wall time, from the first request of an epoch to its last batch. Every epoch was "
        "checked to hold every sample once, and every batch of the first epoch to be uint8 of the right shape."
    )
    setups = []
    for peer, prepared in result["prepared"].items():
        run: Mapping[str, Any] = next(
            (run for run in result["runs"] if run["peer"] == peer and run["status"] == "ok"), {}
        )
        found = run.get("versions", {})
        form = prepared.get("form_bytes")
        setups.append(
            (
                "",
                (
                    peer,
                    run.get("settings", "-"),
                    ", ".join(f"{name} {version}" for name, version in found.items()),
                    f"{form / 1e6:,.0f} MB" if form else "the folder",
                ),
            )
        )
    facts = {
        "processor": f"{machine['processor']}, {machine['cpus']} CPUs, {' '.join(machine['instruction_sets'])}",
        "memory": f"{gigabytes(machine['memory_bytes'])} GB",
        "system": f"{machine['system']}{' (virtual machine)' if machine['virtual'] else ''}, {machine['python']}",
    }
    return (
        f"<h2>How it was measured</h2><p>{escape(words)}</p><p><code>{escape(result['command'])}</code></p>"
        + _table(("peer", "settings", "versions", "reads"), setups, "words")
        + _table(("machine", ""), [("", fact) for fact in facts.items()], "words")
    )


def page(result: Mapping[str, Any], *, against: str | None = None) -> str:
    """Lay a race out as one page.

    `against` names the peer that the others are compared with; without it, the slowest.
    """
    ranked = standings(result)
    done = [standing for standing in ranked if standing.rate]
    base = next((s for s in ranked if s.peer == against), done[-1] if done else ranked[-1])
    times = {ratio.peer: ratio for ratio in ratios(result, base.peer)}
    raw = json.dumps(result, indent=1)
    link = "data:application/json;base64," + base64.b64encode(raw.encode()).decode()
    notes = "".join(f"<p>{escape(doubt)}</p>" for doubt in doubts(result))
    failures = "".join(
        f"<pre>{escape(s.peer)} {escape(failure)}</pre>" for s in ranked for failure in dict.fromkeys(s.failures)
    )
    body = [
        f'<h1>Loaders side by side</h1><p class="soft">{escape(caption(result))}</p>',
        f'<div class="cards">{_cards(ranked, times, base.label)}</div>',
        f'<div class="notes">{notes}</div>' if notes else "",
        LEGEND,
        _plots(result, done, times, base) if done else "",
        _numbers(ranked, times, base),
        f"<h2>What failed</h2>{failures}" if failures else "",
        _method(result),
        f'<p class="soft"><a download="race.json" href="{link}">The raw result as JSON</a>, with every run.</p>',
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Loaders side by side</title>'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )
