"""`penstock export`: the files of a dataset, back under their names, or as others keep them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.access import access_options
from penstock.cli.quantities import as_bytes, shown_bytes

if TYPE_CHECKING:
    from penstock.storage.location import Access

__all__ = ["export"]


@click.command()
@click.argument("dataset", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option(
    "--to", type=click.Choice(["folder", "gulp", "webdataset"]), default="folder", show_default=True, help="The form."
)
@click.option("--videos-per-chunk", type=click.IntRange(1), help="Of gulp: items per chunk [100].")
@click.option("--extend", is_flag=True, help="Of gulp: go on behind the chunks that are in DESTINATION.")
@click.option("--shard-size", "shard_bytes", callback=as_bytes, help="Of webdataset: largest size of a tar [256MiB].")
@click.option("--force", is_flag=True, help="Replace files that are in DESTINATION already.")
@access_options
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def export(*, dataset: str, destination: str, access: Access | None, as_json: bool, **options: Any) -> None:
    """Write the files of DATASET into the folder DESTINATION under their original names, pixel-identical.

    Checksums are verified on the way. Labels that are not class folders are written to labels.csv. With --to gulp or
    --to webdataset what GulpIO or WebDataset reads is written instead; no picture is encoded again.
    """
    from rich.console import Console
    from rich.progress import Progress

    from penstock.export import export as run

    talk = Console(stderr=True)
    with Progress(console=talk, disable=not talk.is_terminal) as bar:
        task = bar.add_task("writing files", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        report = run(dataset, destination, access=access, progress=show, **options)
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=1))
    else:
        click.echo(f"{destination}: {report.samples:,} samples, {report.files:,} files, {shown_bytes(report.bytes)}")
