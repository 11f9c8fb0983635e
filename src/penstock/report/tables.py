"""The numbers of a result as rows of words, for the page and for Markdown. Pure.

A column that nobody has a number for is left out; a number that one has not is a dash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.figures.figure import Table
from penstock.report.units import said, spoken_share, unit_for
from penstock.results import metric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.report.entries import Entry, Study
    from penstock.results import Result

__all__ = ["facts", "numbers", "setups"]


def _ms_per_sample(value: float) -> str:
    return unit_for("s/1,000 samples", value).of(value)


# Metric → heading, and how it is said.
BESIDE: dict[str, tuple[str, Callable[[float], str]]] = {
    "cpu_seconds_per_thousand": ("processor, ms/sample", _ms_per_sample),
    "stall_share": ("waited", spoken_share),
    "wait_p99_seconds": ("wait, 99 %", lambda value: said(value, "s")),
    "longest_wait_seconds": ("longest wait", lambda value: said(value, "s")),
    "accelerator_use": ("use", spoken_share),
    "first_batch_seconds": ("first batch", lambda value: said(value, "s")),
    "memory_bytes": ("memory", lambda value: said(value, "B")),
}


def numbers(study: Study, shown: Sequence[Entry], against: str | None = None) -> tuple[Table, tuple[str, ...]]:
    """Lay out every cell, best first, with the kind of each row."""
    result = study.result
    mine = {entry.cell.name: entry for entry in shown if entry.study is study}
    base = study.base(against)
    ratios = {one.cell: one for one in study.compared(against)}
    has = [name for name in BESIDE if any(entry.middle(name) is not None for entry in mine.values())]
    ranked = study.standings()
    largest = max((standing.middle for standing in ranked if standing.middle is not None), default=0.0)
    unit = unit_for(metric(result.primary).unit, largest)
    head = ["", unit.name or "median", "lowest to highest"]
    if ratios:
        head += [f"times {base}", "95 %", "verdict"]
    head += [BESIDE[name][0] for name in has]
    rows, kinds = [], []
    for standing in ranked:
        entry = mine[standing.cell]
        kinds.append(entry.kind)
        if standing.middle is None:
            failed = standing.failures[0].partition(":")[0] if standing.failures else "not measured"
            rows.append((entry.label, failed, *["-"] * (len(head) - 2)))
            continue
        row = [entry.label, unit.of(standing.middle)]
        row.append(f"{unit.of(min(standing.values))} to {unit.of(max(standing.values))}")
        if ratios:
            one = ratios.get(standing.cell)
            interval = f"{one.interval[0]:.2f} to {one.interval[1]:.2f}" if one and one.interval else "-"
            row += [f"{one.middle:.2f}" if one else "1", interval if one else "", one.verdict if one else ""]
        for name in has:
            value = entry.middle(name)
            row.append("-" if value is None else BESIDE[name][1](value))
        rows.append(tuple(row))
    return Table(tuple(head), tuple(rows)), tuple(kinds)


def setups(result: Result) -> Table:
    """Lay out how each system was set up."""
    rows = []
    for system in result.systems:
        versions = ", ".join(f"{name} {version}" for name, version in system.versions.items())
        reads = "the data as they are" if system.form is None else system.form
        reads += f", {said(system.form_bytes, 'B')}" if system.form_bytes else ""
        reads += f", made in {said(system.form_seconds, 's')}" if system.form_seconds else ""
        rows.append((system.name, system.label, system.settings or "-", versions or "-", reads))
    return Table(("", "what", "settings", "versions", "reads"), tuple(rows))


def facts(value: object, name: str = "") -> list[tuple[str, str]]:
    """Flatten what is nested, for a table of two columns; whatever a newer version wrote is shown, too."""
    if isinstance(value, dict):
        return [fact for key, part in value.items() for fact in facts(part, f"{name} · {key}" if name else str(key))]
    if isinstance(value, list | tuple):
        return [(name.replace("_", " "), " ".join(map(str, value)))]
    if name.endswith("bytes") and isinstance(value, int):
        return [
            (f"{name.removesuffix('bytes').replace('_', ' ')}size".replace("memory size", "memory"), said(value, "B"))
        ]
    return [] if value in {None, ""} else [(name.replace("_", " "), str(value))]
