"""`penstock report`: a stored result for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

__all__ = ["report"]


@click.command()
@click.argument("result", type=click.Path(exists=True, dir_okay=False))
@click.option("--html", type=click.Path(dir_okay=False), help="Write a page with plots here.")
@click.option("--against", help="The peer to compare with (default: the slowest).")
@click.option("--json", "as_json", is_flag=True, help="Print standings and ratios as JSON, not as a table.")
def report(*, result: str, html: str | None, against: str | None, as_json: bool) -> None:
    """Show RESULT, a race's JSON, as a table, and with --html as one page that needs no network."""
    from rich.console import Console

    from penstock.errors import FormatError
    from penstock.report import page, table

    try:
        stored = json.loads(Path(result).read_text("utf-8"))
    except ValueError as error:
        raise FormatError("not JSON", file=result, got=str(error), expected="a result of penstock race") from error
    try:
        shown = page(stored, against=against) if html else ""
        data = _standings(stored, against) if as_json else None
        lines = table(stored, against=against)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        what = f"the result lacks something: {type(error).__name__} {error}"
        raise FormatError(what, file=result, expected="a result of penstock race") from error
    if html:
        Path(html).write_text(shown, "utf-8")
    if as_json:
        click.echo(json.dumps(data, indent=1))
    else:
        Console().print(lines)


def _standings(stored: dict[str, Any], against: str | None) -> dict[str, Any]:
    from dataclasses import asdict

    from penstock import bench

    ranked = bench.standings(stored)
    times = [
        {**asdict(ratio), "median": ratio.median, "interval": ratio.interval}
        for ratio in bench.ratios(stored, against or ranked[-1].peer)
    ]
    return {"standings": [asdict(standing) for standing in ranked], "ratios": times}
