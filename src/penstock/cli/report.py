"""`penstock report`: stored results for people."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.results import Result

__all__ = ["report"]

FILE = click.Path(dir_okay=False)
FOLDER = click.Path(file_okay=False)


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--html", type=FILE, help="Write one page with plots here.")
@click.option("--markdown", type=FILE, help="Write a table for a README here; - is stdout.")
@click.option("--svg", type=FOLDER, help="Write each plot into this folder, as SVG.")
@click.option("--png", type=FOLDER, help="Write each plot into this folder, as PNG.")
@click.option("--against", help="The system or cell to compare with (default: the slowest system).")
@click.option("--json", "as_json", is_flag=True, help="Print standings and comparisons as JSON, not as a table.")
def report(
    *,
    results: tuple[str, ...],
    html: str | None,
    markdown: str | None,
    svg: str | None,
    png: str | None,
    against: str | None,
    as_json: bool,
) -> None:
    """Show RESULTS, the JSON of races and benches, as a table; with --html as one page that needs no network.

    Several results are shown side by side, under the names of their files.
    """
    from rich.console import Console

    from penstock import report as shown
    from penstock.results import read

    stored = [read(path) for path in results]
    names = [Path(path).stem for path in results]
    _check_known(stored, against)
    bases = [_base(result, against) for result in stored]
    if html:
        Path(html).write_text(shown.page(*stored, names=names, against=against), "utf-8")
    if svg or png:
        drawn = shown.figures(shown.studies(stored, names), against)
        if svg:
            shown.write_svg(drawn, svg)
        if png:
            shown.write_png(drawn, png)
    if markdown:
        text = shown.markdown(*stored, names=names, against=against)
        if markdown == "-":
            click.echo(text)
            return
        Path(markdown).write_text(text, "utf-8")
    if as_json:
        said = [_conclusions(result, base) for result, base in zip(stored, bases, strict=True)]
        click.echo(json.dumps(said[0] if len(said) == 1 else said, indent=1))
    else:
        for result, base in zip(stored, bases, strict=True):
            Console().print(shown.table(result, against=base))


def _check_known(stored: Sequence[Result], against: str | None) -> None:
    """See that what to compare with is in one result at least."""
    from penstock.errors import UsageError

    known = dict.fromkeys(system.name for result in stored for system in result.systems)
    cells = {cell.name for result in stored for cell in result.cells}
    if against is not None and against not in {*known, *cells}:
        raise UsageError("nothing of this name to compare with", got=against, expected=f"one of {', '.join(known)}")


def _base(result: Result, against: str | None) -> str | None:
    """Leave what to compare with to the result, where it has nothing of that name."""
    named = {system.name for system in result.systems} | {cell.name for cell in result.cells}
    return against if against in named else None


def _conclusions(stored: Result, against: str | None) -> dict[str, Any]:
    from penstock.results import compared, standings

    return {
        "standings": [asdict(standing) for standing in standings(stored)],
        "comparisons": [asdict(comparison) for comparison in compared(stored, against)],
    }
