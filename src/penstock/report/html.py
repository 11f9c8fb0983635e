"""A result as one HTML page that needs nothing else: no network, no script; plots and the raw result are inside."""

from __future__ import annotations

import base64
import json
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from penstock.report.plot import Bar, Interval, Line, bars, intervals, lines
from penstock.report.words import caption, gigabytes, interval, middle
from penstock.results import Comparison, Result, Standing, compared, metric, standings, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["page"]

LEGEND = (
    '<div class="legend"><span><i style="background:var(--ours)"></i>penstock</span>'
    '<span><i style="background:var(--other)"></i>other loaders</span>'
    '<span><i style="border:1.5px dashed var(--ceiling)"></i>bounds, not loaders</span></div>'
)
STYLE = resources.files("penstock.report").joinpath("page.css").read_text("utf-8")


def _kind(result: Result, standing: Standing) -> str:
    return {"ours": "ours", "bound": "ceiling"}.get(result.system(standing.system).kind, "other")


def _label(result: Result, standing: Standing) -> str:
    """Name a standing; a system measured against itself has its number added, a level of a factor is said."""
    system = result.system(standing.system)
    twin, levels = system.name.partition("#")[2], standing.cell.removeprefix(system.name)
    return f"{system.label}{f', run {twin}' if twin else ''}{levels}"


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


def _cards(
    result: Result, ranked: Sequence[Standing], times: Mapping[str, Comparison], base: str
) -> list[tuple[str, str]]:
    cards = []
    unit = metric(result.primary).unit
    for standing in ranked:
        if (
            _kind(result, standing) == "ours"
            and "#" not in standing.system
            and standing.middle
            and standing.cell in times
        ):
            ratio = times[standing.cell]
            cards.append((f"{ratio.middle:.2f}x", f"{_label(result, standing)}, times {base}"))
            cards.append((f"{standing.middle:,.0f}", f"{unit}, {_label(result, standing)}"))
    return cards[:4]


def _plots(result: Result, done: Sequence[Standing], times: Mapping[str, Comparison], base: Standing) -> str:
    unit, kinds = metric(result.primary).unit, {s.cell: _kind(result, s) for s in done}
    parts = [
        _figure(
            "Samples per second" if unit == "samples/s" else metric(result.primary).about,
            "Bars: the median of the blocks. Dots: each block.",
            bars(
                [Bar(_label(result, s), s.middle or 0, s.values, kinds[s.cell], f"{s.middle:,.4g}") for s in done],
                title=result.title,
                unit=unit,
            ),
        )
    ]
    compared_ones = [(s, times[s.cell]) for s in done if s.cell in times]
    if compared_ones:
        rows = []
        for standing, ratio in compared_ones:
            low, high = ratio.interval or (min(ratio.ratios), max(ratio.ratios))
            label = _label(result, standing)
            rows.append(Interval(label, ratio.middle, low, high, ratio.ratios, kinds[standing.cell]))
        words = "Values of the same block compared; diamond: median, line: 95 % interval, dots: each block."
        drawing = intervals(rows, title=f"Ratio to {base.cell}", base=base.system)
        parts.append(_figure(f"Times as much as {_label(result, base)}", words, drawing))
    costs = [(s, middle(result, s.cell, "cpu_seconds_per_thousand")) for s in done]
    rows_cpu = [Bar(_label(result, s), cpu, (), kinds[s.cell], f"{cpu:.2f}") for s, cpu in costs if cpu is not None]
    if rows_cpu:
        words = "Processor time of all the loader's processes and threads for one delivered sample; less is better."
        parts.append(_figure("Processor time per sample", words, bars(rows_cpu, title="CPU ms per sample", unit="ms")))
    if result.blocks > 1:
        by_block = {s.cell: result.values(s.cell, result.primary) for s in done}
        rows_line = [
            Line(s.cell, tuple(by_block[s.cell].get(n) for n in range(result.blocks)), kinds[s.cell]) for s in done
        ]
        words = "Lines that lean together: the machine changed speed. One that leans alone: its loader did."
        parts.append(_figure("Block by block", words, lines(rows_line, title="By block", unit=unit)))
    return "".join(parts)


def _numbers(result: Result, ranked: Sequence[Standing], times: Mapping[str, Comparison], base: Standing) -> str:
    head = (
        "loader",
        metric(result.primary).unit,
        "lowest-highest",
        f"times {base.system}",
        "95 %",
        "verdict",
        "CPU ms/sample",
        "first batch, s",
        "memory, GB",
    )
    rows = []
    for s in ranked:
        kind, label = _kind(result, s), _label(result, s)
        if s.middle is None:
            rows.append((kind, (label, "did not finish", *[""] * 7)))
            continue
        ratio = times.get(s.cell)
        cpu, first = (middle(result, s.cell, name) for name in ("cpu_seconds_per_thousand", "first_batch_seconds"))
        cells = (
            label,
            f"{s.middle:,.0f}",
            f"{min(s.values):,.0f}-{max(s.values):,.0f}",
            f"{ratio.middle:.2f}" if ratio else "1",
            interval(ratio) if ratio else "",
            ratio.verdict if ratio else "",
            "-" if cpu is None else f"{cpu:.2f}",
            "-" if first is None else f"{first:.2f}",
            gigabytes(middle(result, s.cell, "memory_bytes")),
        )
        rows.append((kind, cells))
    return "<h2>All numbers</h2>" + _table(head, rows)


def _method(result: Result) -> str:
    machine = result.manifest.get("machine", {})
    words = (
        "Every run is a fresh process bound to the same CPUs. Each block runs every cell once, in an order drawn anew. "
        "Warm-up epochs are not counted; a rate is all samples of the others over their wall time, from the first "
        "request of an epoch to its last batch. A run that passes not all of its gates has no rate."
    )
    setups = []
    for system in result.systems:
        versions = ", ".join(f"{name} {version}" for name, version in system.versions.items())
        form = f"{system.form_bytes / 1e6:,.0f} MB" if system.form_bytes else "the folder"
        setups.append(("", (system.name, system.settings or "-", versions, form)))
    virtual = " (virtual machine)" if machine.get("virtual") else ""
    facts = {
        "processor": f"{machine.get('processor')}, {machine.get('cpus')} CPUs, "
        + " ".join(machine.get("instruction_sets", ())),
        "memory": f"{gigabytes(machine.get('memory_bytes'))} GB",
        "system": f"{machine.get('system')}{virtual}, {machine.get('python')}",
    }
    return (
        f"<h2>How it was measured</h2><p>{escape(words)}</p><p><code>{escape(result.command)}</code></p>"
        + _table(("peer", "settings", "versions", "reads"), setups, "words")
        + _table(("machine", ""), [("", fact) for fact in facts.items()], "words")
    )


def page(result: Result, *, against: str | None = None) -> str:
    """Lay a result out as one page.

    `against` names the system that the others are compared with; without it, the slowest.
    """
    ranked = standings(result)
    done = [standing for standing in ranked if standing.middle]
    base = next((s for s in ranked if s.system == against), done[-1] if done else ranked[-1])
    times = {ratio.cell: ratio for ratio in compared(result, base.system)} if done else {}
    raw = json.dumps(to_json(result), indent=1)
    link = "data:application/json;base64," + base64.b64encode(raw.encode()).decode()
    notes = "".join(f"<p>{escape(finding.message)}</p>" for finding in result.findings)
    failures = "".join(
        f"<pre>{escape(s.cell)} {escape(failure)}</pre>" for s in ranked for failure in dict.fromkeys(s.failures)
    )
    cards = _cards(result, ranked, times, _label(result, base))
    drawn = "".join(f'<div class="card"><b>{escape(b)}</b><span>{escape(words)}</span></div>' for b, words in cards)
    body = [
        f'<h1>{escape(result.title)}</h1><p class="soft">{escape(caption(result))}</p>',
        f'<div class="cards">{drawn}</div>',
        f'<div class="notes">{notes}</div>' if notes else "",
        LEGEND,
        _plots(result, done, times, base) if done else "",
        _numbers(result, ranked, times, base),
        f"<h2>What failed</h2>{failures}" if failures else "",
        _method(result),
        f'<p class="soft"><a download="race.json" href="{link}">The raw result as JSON</a>, with every run.</p>',
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(result.title)}</title>'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )
