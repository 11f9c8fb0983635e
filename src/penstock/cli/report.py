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
@click.option("--markdown", type=FILE, help="Write a table for a README here; - is stdout, alone.")
@click.option("--svg", type=FOLDER, help="Write each plot into this folder, as SVG.")
@click.option("--png", type=FOLDER, help="Write each plot into this folder, as PNG.")
@click.option(
    "--export", "exports", multiple=True, help="Also write it as .csv, .md, .jsonl or .parquet; one row each."
)
@click.option("--steps", is_flag=True, help="Export one row per step, not per run and metric (.jsonl, .parquet).")
@click.option("--against", help="The system or cell to compare with (default: the slowest system).")
@click.option("--json", "as_json", is_flag=True, help="Print standings and comparisons as JSON, not as a table.")
def report(
    *,
    results: tuple[str, ...],
    exports: tuple[str, ...],
    steps: bool,
    against: str | None,
    as_json: bool,
    **files: str | None,
) -> None:
    """Show RESULTS, the JSON of races and benches, as a table; with --html as one page that needs no network.

    Several results are shown side by side, under the names of their files; --export takes one. Streams of (DL)²'s
    DLLogger and summaries of DLIO and MLPerf Storage are taken as well.
    """
    from rich.console import Console

    from penstock.errors import UsageError
    from penstock.report import table
    from penstock.results.imported import read_any
    from penstock.results.long_form import export

    if exports and len(results) > 1:
        raise UsageError("--export writes one result", got=f"{len(results)} results", hint="export them one by one")
    stored = [read_any(path) for path in results]
    _check_known(stored, against)
    bases = [_base(result, against) for result in stored]
    _write(stored, [Path(path).stem for path in results], against, files)
    for path in exports:
        export(stored[0], path, steps=steps)
    if as_json:
        said = [_conclusions(result, base) for result, base in zip(stored, bases, strict=True)]
        click.echo(json.dumps(said[0] if len(said) == 1 else said, indent=1))
    elif files["markdown"] != "-":
        for result, base in zip(stored, bases, strict=True):
            Console().print(table(result, against=base))


def _write(stored: Sequence[Result], names: Sequence[str], against: str | None, files: dict[str, str | None]) -> None:
    """Write what was asked for."""
    from penstock.report import figures, markdown, page, studies, write_png, write_svg

    if path := files["html"]:
        Path(path).write_text(page(*stored, names=names, against=against), "utf-8")
    if path := files["markdown"]:
        text = markdown(*stored, names=names, against=against)
        if path == "-":
            click.echo(text, nl=False)
        else:
            Path(path).write_text(text, "utf-8")
    if files["svg"] or files["png"]:
        drawn = figures(studies(stored, names), against)
        for write, folder in ((write_svg, files["svg"]), (write_png, files["png"])):
            if folder:
                write(drawn, folder)


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
