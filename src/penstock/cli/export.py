"""`penstock export`: the files of a dataset, back under their names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from penstock.cli.access import access_options

if TYPE_CHECKING:
    from penstock.storage.location import Access

__all__ = ["export"]


@click.command()
@click.argument("dataset", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--force", is_flag=True, help="Replace files that are in DESTINATION already.")
@access_options
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def export(*, dataset: str, destination: str, force: bool, access: Access | None, as_json: bool) -> None:
    """Write the files of DATASET into the folder DESTINATION under their original names, pixel-identical.

    Checksums are verified on the way. Labels that are not class folders are written to labels.csv.
    """
    from rich.console import Console
    from rich.progress import Progress

    from penstock.cli.quantities import shown_bytes
    from penstock.export import export as run

    talk = Console(stderr=True)
    with Progress(console=talk, disable=not talk.is_terminal) as bar:
        task = bar.add_task("writing files", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        report = run(dataset, destination, force=force, access=access, progress=show)
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=1))
    else:
        click.echo(f"{destination}: {report.files:,} files, {shown_bytes(report.bytes)}")
