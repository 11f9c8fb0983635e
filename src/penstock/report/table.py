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
    from penstock.results import Result

__all__ = ["table"]

SHORT = {INCONCLUSIVE: "?"}
STYLES = {"doubt": "yellow", "invalid": "red"}


def table(result: Result, *, against: str | None = None) -> RenderableType:
    """Lay out the standings of a result.

    `against` names the system (or cell) that the others are compared with; without it, the slowest system.
    """
    ranked, base = standings(result), against or slowest(result)
    times = {ratio.cell: ratio for ratio in compared(result, base)}
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    grid.add_column("cell" if result.factors else "loader", no_wrap=True)
    unit = {"samples/s": "img/s"}.get(metric(result.primary).unit, metric(result.primary).unit)
    for name in (unit, "times", "95 %", "verdict", "CPU ms", "p99 ms", "start s", "GB"):
        grid.add_column(name, justify="right", no_wrap=True)
    for standing in ranked:
        if standing.middle is None:
            failed = standing.failures[0].partition(":")[0] if standing.failures else "not measured"
            grid.add_row(Text(standing.cell), Text(failed, style="red"))
            continue
        ratio = times.get(standing.cell)
        cpu, p99, first = (
            middle(result, standing.cell, name)
            for name in ("cpu_seconds_per_thousand", "wait_p99_seconds", "first_batch_seconds")
        )
        grid.add_row(
            Text(standing.cell),
            _number(standing.middle),
            f"{ratio.middle:.2f}" if ratio else "1",
            interval(ratio) if ratio else "",
            SHORT.get(ratio.verdict, ratio.verdict) if ratio else "",
            f"{cpu:.2f}" if cpu is not None else "-",
            f"{p99 * 1000:.1f}" if p99 is not None else "-",
            f"{first:.2f}" if first is not None else "-",
            gigabytes(middle(result, standing.cell, "memory_bytes")),
            style="bold" if result.system(standing.system).kind == "ours" else "",
        )
    told = f"times: as much as {base}; ?: inconclusive; CPU: of all processes, per sample; p99: of the waits"
    words = f"{result.title}\n{caption(result)}\n{told}; start: to the first batch"
    lines: list[RenderableType] = [Text(words), grid]
    for standing in ranked:
        # The last line says most; the others are in the result.
        said = (f"{failure.partition(':')[0]}: {failure.splitlines()[-1]}" for failure in standing.failures)
        lines += [Text(f"{standing.cell} {words}", style="red") for words in dict.fromkeys(said)]
    lines += [Text(f"{one.severity}: {one.message}", style=STYLES.get(one.severity, "")) for one in result.findings]
    return Group(*lines)


def _number(value: float) -> str:
    """Write a number with about three digits: 5,899 and 0.123."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
