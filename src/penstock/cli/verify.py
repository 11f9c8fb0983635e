"""`penstock verify`: whether everything is there and is what it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from penstock.cli.access import access_options

if TYPE_CHECKING:
    from penstock.storage.location import Access

__all__ = ["verify"]


@click.command()
@click.argument("dataset", type=click.Path())
@click.option("--workers", type=click.IntRange(1), help="Threads (default: all cores).")
@access_options
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def verify(*, dataset: str, workers: int | None, access: Access | None, as_json: bool) -> None:
    """Check every checksum, tar member, image header, label and index row of the packed DATASET.

    Ends with code 1 when anything is damaged, after listing all of it.
    """
    from rich.console import Console
    from rich.progress import Progress

    from penstock.cli.quantities import shown_bytes
    from penstock.verify import verify as run

    talk = Console(stderr=True)
    with Progress(console=talk, disable=not talk.is_terminal) as bar:
        task = bar.add_task("checking shards", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        report = run(dataset, workers=workers, access=access, progress=show)
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=1))
    else:
        for damage in report.damages:
            click.echo(str(damage))
        size = f"{report.samples:,} samples in {report.shards:,} shards, {shown_bytes(report.checked_bytes)}"
        damaged = f"{len(report.damages):,} faults, {len(report.damaged_samples):,} damaged samples"
        click.echo(f"{dataset}: {size}: {'sound' if report.is_sound else damaged}")
    if not report.is_sound:
        raise SystemExit(1)
