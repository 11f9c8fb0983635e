"""`penstock report`: a stored result for people."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from penstock.results import Result

__all__ = ["report"]


@click.command()
@click.argument("result", type=click.Path(exists=True, dir_okay=False))
@click.option("--html", type=click.Path(dir_okay=False), help="Write a page with plots here.")
@click.option(
    "--export", "exports", multiple=True, help="Also write it as .csv, .md, .jsonl or .parquet; one row each."
)
@click.option("--steps", is_flag=True, help="Export one row per step, not per run and metric (.jsonl, .parquet).")
@click.option("--against", help="The system or cell to compare with (default: the slowest system).")
@click.option("--json", "as_json", is_flag=True, help="Print standings and comparisons as JSON, not as a table.")
def report(
    *, result: str, html: str | None, exports: tuple[str, ...], steps: bool, against: str | None, as_json: bool
) -> None:
    """Show RESULT, the JSON of a race or a bench, as a table, and with --html as one page that needs no network.

    Streams of (DL)²'s DLLogger and summaries of DLIO and MLPerf Storage are taken as well.
    """
    from rich.console import Console

    from penstock.report import page, table
    from penstock.results.imported import read_any
    from penstock.results.long_form import export

    stored = read_any(result)
    lines = table(stored, against=against)
    if html:
        Path(html).write_text(page(stored, against=against), "utf-8")
    for path in exports:
        export(stored, path, steps=steps)
    if as_json:
        click.echo(json.dumps(_conclusions(stored, against), indent=1))
    else:
        Console().print(lines)


def _conclusions(stored: Result, against: str | None) -> dict[str, Any]:
    from penstock.results import compared, standings

    return {
        "standings": [asdict(standing) for standing in standings(stored)],
        "comparisons": [asdict(comparison) for comparison in compared(stored, against)],
    }
