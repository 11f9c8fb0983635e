"""`penstock index`: a list of the images in a bucket or a folder, to open them where they are."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

import click

from penstock.cli.access import access_options

if TYPE_CHECKING:
    from penstock.storage.location import Access

__all__ = ["index"]


@click.command()
@click.argument("source", metavar="SRC")
@click.option("-o", "--out", required=True, help="Where the list goes, a path or a URL: .json or .parquet.")
@click.option("--suffix", "suffixes", multiple=True, help="Only names in this, in letters of any case; repeatable.")
@click.option("--full-keys", is_flag=True, help="Keys from the bucket on, not relative to SRC.")
@click.option("--classes", help="Which folder of the keys names the class (-1: the last), a file of classes, or none.")
@click.option("--checksums", is_flag=True, help="Read every object, for its checksum; .parquet only.")
@access_options
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def index(
    *,
    source: str,
    out: str,
    suffixes: tuple[str, ...],
    full_keys: bool,
    classes: str | None,
    checksums: bool,
    access: Access | None,
    as_json: bool,
) -> None:
    """List the images below SRC, a folder or a URL (s3://bucket/prefix, gs://, az://), for `penstock.open`.

    A .json list is an array of keys and nothing else; a .parquet list has sizes and labels, too, and knows SRC.
    With --checksums it also has those, and whoever reads objects later can tell whether they are still the same.
    That reads everything once; interrupted, the same command goes on where it was.
    """
    from rich.console import Console
    from rich.progress import Progress, TaskID, TextColumn

    from penstock.cli.quantities import shown_bytes, shown_counts
    from penstock.ingest.object_lister import index_objects

    which: int | str | Literal[False] | None = classes
    if classes is not None:
        which = int(classes) if re.fullmatch(r"-?[0-9]{1,9}", classes) else classes != "none" and classes
    talk = Console(stderr=True)
    columns = TextColumn("{task.completed:,} {task.fields[of]}{task.description}")
    with Progress(columns, console=talk, disable=not talk.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total, of="" if total is None else f"of {total:,} ")
            bar.update(tasks[what], completed=done)

        report = index_objects(
            source,
            out,
            suffixes=suffixes,
            full_keys=full_keys,
            classes=which,
            checksums=checksums,
            access=access,
            progress=tell,
        )
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=1))
        return
    named = "" if report.classes is None else f", {report.classes:,} classes"
    click.echo(f"{report.path}: {report.objects:,} objects, {shown_bytes(report.bytes)}{named}")
    if report.skipped:
        click.echo(f"  passed over: {shown_counts(report.skipped)}")
