"""`penstock probe`: what an endpoint keeps of S3's contract, and how many requests of what size it likes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from penstock.cli.access import access_options

if TYPE_CHECKING:
    from penstock.storage.location import Access

__all__ = ["probe"]


@click.command()
@click.argument("url")
@access_options
@click.option("--object", "name", help="Read this object below URL (default: the largest there).")
@click.option("--write", "writes", is_flag=True, help="Also write: objects in a new folder below URL, then removed.")
@click.option(
    "--seconds", default=30.0, show_default=True, type=click.FloatRange(1.0), help="About how long it may take."
)
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def probe(*, url: str, access: Access | None, name: str | None, writes: bool, seconds: float, as_json: bool) -> None:
    """Check the endpoint of URL against S3's contract, and measure how it answers.

    URL is s3://bucket/prefix with an object below it, or with --write any prefix that may be written to; or http(s)://
    and one file. Ends with code 1 where something that penstock depends on is not as it should be.
    """
    from rich.console import Console

    from penstock.bench.endpoint import probe as run
    from penstock.report import findings

    talk = Console(stderr=True)
    with talk.status("connecting") as status:
        result = run(url, access, name=name, writes=writes, seconds=seconds, progress=status.update)
    if as_json:
        click.echo(json.dumps(result, indent=1))
    else:
        Console().print(findings(result))
    if not result["sound"]:
        raise SystemExit(1)
