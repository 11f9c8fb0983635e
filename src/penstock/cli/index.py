"""`penstock index`: what there is to open where it is: a list of loose images, or where images lie in packed files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

import click

from penstock.cli.access import access_options

if TYPE_CHECKING:
    from penstock.ingest.kind import Kind, Options
    from penstock.storage.location import Access

__all__ = ["index"]

LISTED = 10  # what is missing, one by one; --json has all


@click.command()
@click.argument("source", metavar="SRC")
@click.option("-o", "--out", help="Where it goes, a path or a URL; a list: .json or .parquet.")
@click.option("--suffix", "suffixes", multiple=True, help="Only names in this, in letters of any case; repeatable.")
@click.option("--full-keys", is_flag=True, help="Keys from the bucket on, not relative to SRC.")
@click.option("--classes", help="Which folder of the keys names the class (-1: the last), a file of classes, or none.")
@click.option("--checksums", is_flag=True, help="Read every object, for its checksum; .parquet only.")
@access_options
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def index(
    *,
    source: str,
    out: str | None,
    suffixes: tuple[str, ...],
    full_keys: bool,
    classes: str | None,
    checksums: bool,
    access: Access | None,
    as_json: bool,
) -> None:
    """Index SRC for `penstock.open`: loose images below a folder or a URL (s3://, gs://, az://), or packed files.

    Of loose images it writes a list: .json is an array of keys and nothing else; .parquet has sizes and labels, too,
    and knows SRC. With --checksums it also has those, and whoever reads objects later can tell whether they are still
    the same. That reads everything once; interrupted, the same command goes on where it was.

    Of files that others packed (tars, LMDB, GulpIO) it writes a side-car, SRC.index.parquet: who opens SRC then need
    not go through it.
    """
    from rich.console import Console
    from rich.progress import Progress, TaskID, TextColumn

    from penstock.cli.quantities import shown_bytes, shown_counts
    from penstock.errors import UsageError
    from penstock.ingest.kind import Options
    from penstock.ingest.kinds import in_place_kind
    from penstock.ingest.object_lister import index_objects

    kind = in_place_kind(source)
    if kind is not None:
        if suffixes or full_keys or classes is not None or checksums:
            what = "--suffix, --full-keys, --classes and --checksums are about loose images"
            raise UsageError(what, file=source, got=f"a source of kind {kind.name}")
        talk = Console(stderr=True)
        with Progress(console=talk, disable=not talk.is_terminal) as bar:
            task = bar.add_task("going through it", total=None)

            def show(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            told = _sidecar(kind, source, out, Options(access=access, progress=show), as_json=as_json)
        click.echo(told)
        return
    _refuse_others(source)
    if out is None:
        expected = "-o with a name in .json or .parquet"
        raise UsageError("a list of loose images goes into a file of its own", file=source, expected=expected)
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


def _refuse_others(source: str) -> None:
    """Refuse what is plainly a source of a kind that has no index."""
    from penstock.errors import UsageError
    from penstock.ingest.image_folder import IMAGE_FOLDER
    from penstock.ingest.kinds import KINDS
    from penstock.storage.location import is_url

    kind = None if is_url(source) else next((kind for kind in KINDS if kind.detects(source)), None)
    if kind is not None and kind is not IMAGE_FOLDER:
        hint = "it is opened as it is" if kind.is_of_files else "pack it: `penstock pack`"
        what = f"a source of kind {kind.name} has no index of its own"
        raise UsageError(what, file=source, expected="loose images, tars, LMDB or GulpIO", hint=hint)


def _sidecar(kind: Kind, source: str, out: str | None, options: Options, *, as_json: bool) -> str:
    """Write the index of packed files beside them; what to say of it."""
    from penstock.cli.quantities import shown_bytes
    from penstock.ingest.in_files import write_sidecar

    where, index = write_sidecar(kind, source, options, out)
    assert index.file_bytes is not None
    size = int(index.file_bytes.sum())
    found = {
        "path": where,
        "kind": kind.name,
        "samples": len(index),
        "files": index.file_count,
        "bytes": size,
        "classes": None if index.classes is None else len(index.classes),
        "missing": [item.as_dict() for item in index.lost],
    }
    if as_json:
        return json.dumps(found, indent=1)
    told = f"{where}: {len(index):,} samples in {index.file_count:,} files, {shown_bytes(size)}"
    lines = [f"  missing {item}" for item in index.lost[:LISTED]]
    more = len(index.lost) - LISTED
    return "\n".join([told, *lines, *([f"  and {more:,} more: see --json"] if more > 0 else [])])
