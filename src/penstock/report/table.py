"""A result as a table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.report.words import caption, gigabytes, interval, middle
from penstock.results import compared, metric, slowest, standings
from penstock.results.conclusions import INCONCLUSIVE

if TYPE_CHECKING:
    from penstock.results import Comparison, Result, Standing

__all__ = ["table"]

COLUMNS = ("value", "times", "95 %", "verdict", "CPU ms", "p99 ms", "start s", "GB")
SHORT = {INCONCLUSIVE: "?"}
STYLES = {"doubt": "yellow", "invalid": "red"}


def table(result: Result, *, against: str | None = None) -> RenderableType:
    """Lay out the standings of a result.

    `against` names the system (or cell) that the others are compared with; without it, the slowest system.
    """
    ranked, base = standings(result), against or slowest(result)
    times = {ratio.cell: ratio for ratio in compared(result, base)}
    cells = [_row(result, standing, times.get(standing.cell)) for standing in ranked]
    kept = [name for name in COLUMNS if any(row.get(name, "-") not in {"-", ""} for row in cells)]
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    grid.add_column("cell" if result.factors else "loader", no_wrap=True)
    for name in kept:
        unit = _unit(metric(result.primary).unit)[0] if name == "value" else name
        grid.add_column(unit, justify="right", no_wrap=True)
    for standing, row in zip(ranked, cells, strict=True):
        if standing.middle is None:
            failed = standing.failures[0].partition(":")[0] if standing.failures else "not measured"
            grid.add_row(Text(standing.cell), Text(failed, style="red"))
            continue
        style = "bold" if result.system(standing.system).kind == "ours" else ""
        grid.add_row(Text(standing.cell), *(row[name] for name in kept), style=style)
    told = f"times: as much as {base}; ?: inconclusive; CPU: of all processes, per sample; p99: of the waits"
    words = f"{result.title}\n{caption(result)}\n{told}; start: to the first batch"
    lines: list[RenderableType] = [Text(words), grid]
    for standing in ranked:
        # The last line says most; the others are in the result.
        said = (f"{failure.partition(':')[0]}: {failure.splitlines()[-1]}" for failure in standing.failures)
        lines += [Text(f"{standing.cell} {words}", style="red") for words in dict.fromkeys(said)]
    lines += [Text(f"{one.severity}: {one.message}", style=STYLES.get(one.severity, "")) for one in result.findings]
    return Group(*lines)


def _row(result: Result, standing: Standing, ratio: Comparison | None) -> dict[str, str]:
    """Write what stands in the columns of a row."""
    if standing.middle is None:
        return {}
    cpu, p99, first = (
        middle(result, standing.cell, name)
        for name in ("cpu_seconds_per_thousand", "wait_p99_seconds", "first_batch_seconds")
    )
    return {
        "value": _number(standing.middle * _unit(metric(result.primary).unit)[1]),
        "times": f"{ratio.middle:.2f}" if ratio else "1",
        "95 %": interval(ratio) if ratio else "",
        "verdict": SHORT.get(ratio.verdict, ratio.verdict) if ratio else "",
        "CPU ms": f"{cpu:.2f}" if cpu is not None else "-",
        "p99 ms": f"{p99 * 1000:.1f}" if p99 is not None else "-",
        "start s": f"{first:.2f}" if first is not None else "-",
        "GB": gigabytes(middle(result, standing.cell, "memory_bytes")),
    }


def _unit(unit: str) -> tuple[str, float]:
    """Give the unit that is shown, and what to multiply with."""
    return {"samples/s": ("img/s", 1.0), "B/s": ("MB/s", 1e-6)}.get(unit, (unit, 1.0))


def _number(value: float) -> str:
    """Write a number with about three digits: 5,899 and 0.123."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
