"""`penstock pack`: images or clips, however they are kept, become a packed dataset."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.access import access_options
from penstock.cli.quantities import as_bytes, shown_bytes, shown_counts
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.ingest.outlook import Outlook
    from penstock.ingest.source import Skipped
    from penstock.pack import PackProgress, PackReport
    from penstock.work import Engine

__all__ = ["pack"]

LEFT_OUT = 3  # the exit status: there is a dataset, but not of everything
_LISTED = 50  # files named one by one; --json and the manifest have all


def _list_kinds(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """List the kinds of sources and end."""
    if is_asked:
        from penstock.ingest.kinds import KINDS

        for kind in KINDS:
            click.echo(f"{kind.name:16}{kind.what}")
        context.exit()


@click.command()
@click.argument("source", type=click.Path())
@click.argument("destination", type=click.Path(), required=False)
@click.option("--source", "kind", metavar="KIND", help="What SOURCE is, where it is not plain; see --kinds.")
@click.option("--labels", type=click.Path(), help="A file of labels or class names (default: the class folders).")
@click.option("--masks", type=click.Path(), help="A folder of masks, laid out like the images.")
@click.option("--root", type=click.Path(), help="What the paths or ids in a list are below.")
@click.option("--label-name", help="Which column or member of a list is the label.")
@click.option("--subset", help="Which part of a list: training, validation, testing.")
@click.option("--frame-rate", type=click.FloatRange(0, min_open=True), help="Frames per second of videos [all].")
@click.option(
    "--remove-duplicates",
    is_flag=True,
    help="Keep the first of several samples of one id; with --extend, also the one that is there.",
)
@click.option("--shard-size", callback=as_bytes, default="256MiB", show_default=True, help="Largest size of a shard.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**64 - 1), help="Of the shuffled write order."
)
@click.option("--in-order", is_flag=True, help="Write in the source's order, not shuffled.")
@click.option("--workers", type=click.IntRange(1), help="Threads, or CPUs of the cluster (default: all).")
@click.option(
    "--engine", type=click.Choice(["threads", "ray"]), default="threads", show_default=True, help="Who does the work."
)
@click.option("--address", help="Of a Ray cluster, host:port or auto (default: Ray is started here).")
@click.option("--keep-bytes", is_flag=True, help="Store files as they are: no JPEG is rewritten as tiles.")
@click.option("--max-side", type=click.IntRange(1), help="Scale larger images down to this, and encode them again.")
@click.option("--short-side", type=click.IntRange(1), help="The same, down to this shorter side.")
@click.option(
    "--quality", type=click.IntRange(1, 100), help="JPEG quality of what is encoded again [90]; alone: everything."
)
@click.option("--raw", is_flag=True, help="Store decoded pixels (large; no decoding when loading).")
@click.option(
    "--on-error", type=click.Choice(["raise", "skip"]), default="raise", show_default=True, help="At bad files."
)
@click.option("--extend", is_flag=True, help="Add to the dataset that is there.")
@click.option("--dry-run", is_flag=True, help="Only list SOURCE: kind, samples, classes, bytes, what is left out.")
@click.option("--force", is_flag=True, help="Replace a dataset, or another unfinished one, that is in the way.")
@click.option(
    "--kinds", is_flag=True, is_eager=True, expose_value=False, callback=_list_kinds, help="List what SOURCE may be."
)
@access_options
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def pack(
    *,
    destination: str | None,
    shard_size: int,
    seed: int,
    in_order: bool,
    engine: str,
    address: str | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Pack SOURCE into the dataset DESTINATION: a folder, or a URL such as s3://bucket/name.

    SOURCE is a folder of images, one folder per class, or any with --labels; or another kind of source: `--kinds`
    lists them. JPEGs are rewritten losslessly so that crops decode fast; they stay ordinary JPEGs. Killed or out of
    disk? Run the same command again: it goes on where it stopped.

    Ends with 0; with 3 where --on-error skip left out what should have been a sample; with 1 or 2 at errors.
    """
    if dry_run:
        _list(as_json=as_json, **options)
        return
    if destination is None:
        raise click.UsageError("Missing argument 'DESTINATION'.")
    from rich.console import Console

    from penstock.pack import pack as run

    seeds, engines = None if in_order else seed, _engine(engine, address)
    quiet = nullcontext() if engines is None else redirect_stdout(sys.stderr)  # Ray tells of lost nodes on stdout
    with _Bar(Console(stderr=True)) as show, quiet:
        report = run(
            destination=destination, progress=show, shard_bytes=shard_size, seed=seeds, engine=engines, **options
        )
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=1))
    else:
        click.echo(_summary(report))
    if any(not item.is_expected for item in report.skipped):
        click.get_current_context().exit(LEFT_OUT)


def _engine(name: str, address: str | None) -> Engine | None:
    """Give who is to do the work; None for this process."""
    if name == "ray":
        from penstock.ray import Cluster

        return Cluster(address)
    if address is not None:
        raise UsageError("an address is that of a cluster", got=address, hint="say --engine ray, too")
    return None


def _list(*, source: str, kind: str | None, remove_duplicates: bool, on_error: str, as_json: bool, **said: Any) -> None:
    """Say what there is to pack; end as the pack would, where the list alone shows that it would stop."""
    from penstock.ingest.duplicates import one_of_each
    from penstock.ingest.kind import Options
    from penstock.ingest.kinds import open_source
    from penstock.ingest.outlook import outlook

    names = ("labels", "masks", "root", "label_name", "subset", "frame_rate", "access")
    options = Options(**{name: said[name] for name in names})
    found = outlook(one_of_each(open_source(source, kind, options), remove_duplicates=remove_duplicates))
    click.echo(json.dumps(found.as_dict(), indent=1) if as_json else _listing(found))
    if found.lost and on_error == "raise":
        raise found.lost[0].error()


def _listing(found: Outlook) -> str:
    fields = " and ".join(found.fields)
    lines = [f"{found.kind}: {found.samples:,} samples ({fields}), {shown_bytes(found.bytes)} to read"]
    if found.labels:
        lines.append(f"  labels  {', '.join(found.labels)}")
    if found.classes is not None:
        few = dict(list(found.classes.items())[:_LISTED])
        more = f" and {len(found.classes) - len(few):,} more" if len(found.classes) > len(few) else ""
        lines.append(f"  classes {len(found.classes):,}: {shown_counts(few)}{more}")
    return "\n".join([*lines, *_left_out(found.skipped, "see --json")])


def _left_out(skipped: Sequence[Skipped], where: str) -> list[str]:
    """Name what is no sample, up to a number."""
    if not skipped:
        return []
    lines = [f"  left out {len(skipped):,}:", *(f"    {item}" for item in skipped[:_LISTED])]
    more = len(skipped) - _LISTED
    return [*lines, f"    and {more:,} more: {where}"] if more > 0 else lines


def _summary(report: PackReport) -> str:
    change = report.payload_bytes / max(report.source_bytes, 1) - 1
    lines = [
        f"{report.path}: {report.samples:,} samples in {report.shards:,} shards, {shown_bytes(report.stored_bytes)}",
        f"  files   {shown_counts(report.outcomes)}",
        f"  bytes   {shown_bytes(report.source_bytes)} became {shown_bytes(report.payload_bytes)} ({change:+.1%})",
    ]
    if report.added < report.samples:
        there = f"; {report.already_there:,} of the source were there already" if report.already_there else ""
        lines.append(f"  added   {report.added:,} samples{there}")
    if report.kept:
        lines.append(f"  kept    {shown_counts(report.kept)}")
    if report.resumed_items:
        lines.append(f"  resumed {report.resumed_items:,} files were done by an earlier run")
    return "\n".join([*lines, *_left_out(report.skipped, "see --json, or provenance.skipped in penstock.json")])


class _Bar:
    """The bar of a running pack; silent where stderr is no terminal."""

    def __init__(self, talk: Any) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (BarColumn(20), TaskProgressColumn(), TextColumn("{task.fields[words]}"), TimeRemainingColumn())
        self._progress = Progress(*columns, console=talk, disable=not talk.is_terminal)
        self._task = self._progress.add_task("pack", total=None, words="listing")
        self._started: float | None = None
        self._shown = 0.0

    def show(self, progress: PackProgress) -> None:
        """Draw at most ten times a second."""
        import time

        now = time.monotonic()
        if self._started is None:
            self._started = now
        if now - self._shown < 0.1 and progress.items < progress.total_items:
            return
        self._shown = now
        seconds = max(now - self._started, 0.001)
        rate = (progress.items - progress.resumed_items) / seconds
        files = f"{progress.items:,}/{progress.total_items:,} files, {rate:,.0f}/s"
        read = f"{shown_bytes(progress.source_bytes)} of {shown_bytes(progress.total_bytes)}"
        words = f"{files} · {read} · {shown_counts(progress.outcomes)} ·"
        self._progress.update(self._task, completed=progress.items, total=progress.total_items, words=words)

    def __enter__(self) -> Callable[[PackProgress], None]:
        self._progress.start()
        return self.show

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
