"""`penstock compare`: two results of different times, and only where they are alike; a gate for CI."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from penstock.cli.outcome import percentage

if TYPE_CHECKING:
    from penstock.results.comparing import Change

__all__ = ["compare"]


@click.command()
@click.argument("before", type=click.Path(exists=True, dir_okay=False))
@click.argument("after", type=click.Path(exists=True, dir_okay=False))
@click.option("--allow", multiple=True, help="A field that may differ, as machine.processor; or all.")
@click.option("--fail-if-slower", callback=percentage, help="End with code 1 where a cell is surely worse by more: 5%.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def compare(*, before: str, after: str, allow: tuple[str, ...], fail_if_slower: float | None, as_json: bool) -> None:
    """Compare the results BEFORE and AFTER cell by cell.

    Results whose machine, data, work or settings differ are refused with a list of what differs, unless it is allowed.
    Files of (DL)²'s DLLogger and summaries of DLIO and MLPerf Storage are taken as well.
    """
    from penstock.results import metric
    from penstock.results.comparing import changes, is_slower_by
    from penstock.results.imported import read_any

    one, other = read_any(before), read_any(after)
    found = changes(one, other, allow=allow)
    better = metric(one.primary).better
    worse = [change.cell for change in found if fail_if_slower and is_slower_by(change, fail_if_slower, better)]
    if as_json:
        told = {"metric": one.primary, "changes": [asdict(change) for change in found], "slower": worse}
        click.echo(json.dumps(told, indent=1))
    else:
        _show(found, metric(one.primary).unit)
    if not found:
        click.echo("no cell is in both results", err=True)
        raise SystemExit(1)
    if worse:
        click.echo(f"slower by more than {fail_if_slower:.0%}: {', '.join(worse)}", err=True)
        raise SystemExit(1)


def _show(found: list[Change], unit: str) -> None:
    from statistics import median

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("cell", f"before, {unit}", "after", "times", "95 %", "verdict"):
        grid.add_column(name, justify="left" if name == "cell" else "right")
    for one in found:
        interval = "-" if one.interval is None else f"{one.interval[0]:.3f}-{one.interval[1]:.3f}"
        middles = (f"{median(side):,.4g}" for side in (one.before, one.after))
        grid.add_row(Text(one.cell), *middles, f"{one.ratio:.3f}", interval, one.verdict)
    Console().print(grid)
