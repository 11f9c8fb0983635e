"""`penstock report`: a stored result for people."""

from __future__ import annotations

import json
from pathlib import Path

import click

__all__ = ["report"]


@click.command()
@click.argument("result", type=click.Path(exists=True, dir_okay=False))
@click.option("--html", type=click.Path(dir_okay=False), help="Write a page with plots here.")
@click.option("--against", help="The peer to compare with (default: the slowest).")
@click.option("--json", "as_json", is_flag=True, help="Print standings and ratios as JSON, not as a table.")
def report(*, result: str, html: str | None, against: str | None, as_json: bool) -> None:
    """Show RESULT, a race's JSON, as a table, and with --html as one page that needs no network."""
    from dataclasses import asdict

    from rich.console import Console

    from penstock import bench
    from penstock.errors import FormatError
    from penstock.report import page, table

    try:
        stored = json.loads(Path(result).read_text("utf-8"))
    except ValueError as error:
        raise FormatError("not JSON", file=result, got=str(error), expected="a result of penstock race") from error
    if html:
        Path(html).write_text(page(stored, against=against), "utf-8")
    if as_json:
        ranked = bench.standings(stored)
        base = against or ranked[-1].peer
        times = [
            {**asdict(ratio), "median": ratio.median, "interval": ratio.interval}
            for ratio in bench.ratios(stored, base)
        ]
        click.echo(json.dumps({"standings": [asdict(standing) for standing in ranked], "ratios": times}, indent=1))
    else:
        Console().print(table(stored, against=against))
