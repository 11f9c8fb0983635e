"""What `race` and `bench` do with a result: write it, show it, and say by the exit code what it came to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.results import Result

__all__ = ["conclude", "output_options", "percentage"]

INTERRUPTED = 130


def percentage(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    """Read a share: 5% or 0.05."""
    if value is None:
        return None
    text = value.strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise click.BadParameter(f"{value!r} is no share; write for example 5%")
    return share


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where a result goes."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, not as a table."),
        click.option(
            "--html", type=click.Path(dir_okay=False), help="Also write the result here, as a page with plots."
        ),
        click.option("--out", type=click.Path(), help="Also write the result here, as JSON."),
        click.option("--against", help="The system or cell to compare with (default: the slowest system)."),
    ):
        command = option(command)
    return command


def conclude(result: Result, *, against: str | None, out: str | None, html: str | None, as_json: bool) -> None:
    """Write and show a result. Ends with code 1 when no run succeeded, and 130 when it was interrupted."""
    from rich.console import Console

    from penstock.report import page, table
    from penstock.results import to_json, write

    if out:
        write(result, out)
    if html:
        Path(html).write_text(page(result, against=against), "utf-8")
    if as_json:
        click.echo(json.dumps(to_json(result), indent=1))
    else:
        Console().print(table(result, against=against))
    if result.status != "complete":
        raise SystemExit(INTERRUPTED)
    if not any(run.is_ok for run in result.runs):
        raise SystemExit(1)
