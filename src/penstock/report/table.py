"""A race as a table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.bench import ratios, standings
from penstock.report.doubts import doubts
from penstock.report.words import caption, gigabytes, interval, is_ours

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["table"]


def table(result: Mapping[str, Any], *, against: str | None = None) -> RenderableType:
    """Lay out the standings of a race.

    `against` names the peer that the others are compared with; without it, the slowest.
    """
    ranked = standings(result)
    base = against or next((standing.peer for standing in reversed(ranked) if standing.rate), ranked[-1].peer)
    times = {ratio.peer: ratio for ratio in ratios(result, base)}
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    grid.add_column("loader", no_wrap=True)
    for name in ("img/s", "from-to", "times", "95 %", "CPU ms", "start s", "GB"):
        grid.add_column(name, justify="right", no_wrap=True)
    for standing in ranked:
        if standing.rate is None:
            grid.add_row(Text(standing.peer), Text("did not finish", style="red"))
            continue
        ratio = times.get(standing.peer)
        cpu = standing.cpu_seconds_per_thousand
        grid.add_row(
            Text(standing.peer),
            f"{standing.rate:,.0f}",
            f"{min(standing.rates):,.0f}-{max(standing.rates):,.0f}",
            f"{ratio.median:.2f}" if ratio else "1",
            interval(ratio) if ratio else "",
            f"{cpu:.2f}" if cpu is not None else "-",
            f"{standing.first_batch_seconds:.2f}" if standing.first_batch_seconds is not None else "-",
            gigabytes(standing.memory_bytes),
            style="bold" if is_ours(standing.peer) else "",
        )
    head = Text(
        f"{caption(result)}\ntimes: as fast as {base}; CPU: of all processes, per image; start: to the first batch"
    )
    lines: list[RenderableType] = [head, grid]
    for standing in ranked:
        # The last line says most; the others are in the result.
        said = (f"{failure.partition(':')[0]}: {failure.splitlines()[-1]}" for failure in standing.failures)
        lines += [Text(f"{standing.peer} {words}", style="red") for words in dict.fromkeys(said)]
    lines += [Text(f"note: {doubt}", style="yellow") for doubt in doubts(result)]
    return Group(*lines)
