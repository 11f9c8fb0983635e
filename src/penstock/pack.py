"""The write path: a source becomes a packed dataset.

    list the source → order it → [threads, or a cluster] read, recognise, rewrite, check, lay out
                               → [one writer] append to a shard; when it is full: make it lasting, journal
    all shards there → index → manifest, last

Everything that takes time happens in the threads; the writer only says where shards end, so its order alone decides the
bytes. They are the same for any number of workers, whoever they are (work.py), and however often the run was killed:
shards end where the next sample does not fit, the order is a function of keys and seed, and nothing stored knows the
time or the machine.

With `extend` the same goes on behind the last shard of a dataset that is there (extension.py).

After a kill the journal (storage/journal.py) holds every finished shard's rows; the same call goes on behind them.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from penstock.claim import claim, claim_extension, encode_plan, is_published
from penstock.errors import UsageError
from penstock.extension import Extended
from penstock.ingest.duplicates import one_of_each
from penstock.ingest.kind import Options
from penstock.ingest.kinds import open_source
from penstock.ingest.loose_objects import OBJECT_LIST
from penstock.ingest.recipe import Recipe
from penstock.ingest.source import Skipped, shown
from penstock.publishing import VERSION, publish, remove_older_indexes
from penstock.shard.manifest import MANIFEST_NAME, Manifest, decode_manifest
from penstock.shard.members import kind_of
from penstock.shard.write_order import write_order
from penstock.storage.location import is_url
from penstock.storage.where import place_at
from penstock.work import Threads, Work
from penstock.writer import ShardWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from penstock.ingest.source import Source
    from penstock.storage.journal import Journal
    from penstock.storage.location import Access
    from penstock.storage.place import Place
    from penstock.work import Engine

__all__ = ["SHARD_BYTES", "PackProgress", "PackReport", "pack"]

SHARD_BYTES = 256 * 1024 * 1024  # large enough to read sequentially, small enough to lose to a kill


@dataclass(frozen=True, slots=True)
class PackProgress:
    """How far a pack has come."""

    items: int  # of the source's samples, those dealt with, earlier runs included
    total_items: int
    source_bytes: int
    total_bytes: int
    stored_bytes: int
    resumed_items: int  # those that an earlier run dealt with
    outcomes: dict[str, int]  # what was done to how many files


@dataclass(frozen=True, slots=True)
class PackReport:
    """What a pack did, earlier runs included."""

    path: str
    samples: int
    shards: int
    source_bytes: int  # of the samples packed
    payload_bytes: int  # the same samples' fields as stored
    stored_bytes: int  # shards, index, manifest
    outcomes: dict[str, int]
    kept: dict[str, int]  # why files were stored as they were
    skipped: tuple[Skipped, ...]
    resumed_items: int  # that an earlier run had dealt with
    added: int  # of the samples, those that are new: all of them, or those of an extension
    already_there: int = 0  # the source's samples that an extension left out, since their keys are taken

    def as_dict(self) -> dict[str, Any]:
        """Give the report for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Task:
    """What is left to do in a place that is held."""

    journal: Journal
    source: Source
    order: Sequence[int]
    before: int  # samples that were there
    already_there: int = 0
    is_done: bool = False  # but for the journal's removal

    @property
    def totals(self) -> tuple[int, int]:
        """Count samples to be dealt with, and their bytes."""
        order = np.asarray(self.order, np.int64)
        return len(order), sum(int(items.sizes[order].sum()) for items in self.source.fields.values())


def _new(place: Place, found: Source, settings: dict[str, Any], *, force: bool) -> _Task:
    """Begin a dataset, or go on with it."""
    order = write_order(found.keys, settings["seed"])
    journal = claim(place, encode_plan(_described(found, settings)), force=force)
    return _Task(journal, found, order, 0, is_done=is_published(place))


def _extension(extended: Extended, found: Source, settings: dict[str, Any], *, force: bool, leaves_out: bool) -> _Task:
    """Begin to extend a dataset, or go on with it."""
    extended.check_settings(settings)
    what = {**_described(found, settings), "leaves_out": leaves_out}
    finished, order, already_there, before = extended.was_made_by(what), [], 0, extended.manifest.samples
    if finished is None:
        found = extended.fitted(found)
        order = extended.new(found, write_order(found.keys, settings["seed"]), leaves_out=leaves_out)
        already_there = len(found) - len(order)
    else:
        before -= extended.manifest.provenance["extensions"][-1]["samples"]
    plan = encode_plan(what, extended.digest)
    journal = claim_extension(extended.place, extended.manifest, plan, finished, force=force)
    return _Task(journal, found, order, before, already_there, is_done=finished is not None)


def _described(found: Source, settings: dict[str, Any]) -> dict[str, Any]:
    """Say what the work is: another one, when anything that shapes the bytes is another."""
    return {"penstock": VERSION, "source": found.digest(), "settings": settings}


def pack(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    kind: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    masks: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    label_name: str | None = None,
    subset: str | None = None,
    frame_rate: float | None = None,
    remove_duplicates: bool = False,
    shard_bytes: int = SHARD_BYTES,
    seed: int | None = 0,
    workers: int | None = None,
    keep_bytes: bool = False,
    max_side: int | None = None,
    short_side: int | None = None,
    quality: int | None = None,
    raw: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
    force: bool = False,
    extend: bool = False,
    engine: Engine | None = None,
    access: Access | None = None,
    progress: Callable[[PackProgress], None] | None = None,
) -> PackReport:
    """Pack a source into a dataset; the same call again goes on where a killed one stopped.

    `source` is a folder of images, or whatever else there is a kind for (docs/guide/sources.md); `kind` names it where
    it is not plain. `destination` is a folder, or a URL of an object store (s3://, gs://, az://), which `access` says
    how to get at. `labels` is a file of labels or class names (default: the class folders), `masks` a folder of masks
    laid out like the images, `root` what the paths in a list are below, `label_name` which member of a list is the
    label, `subset` which part of it to take, `frame_rate` how many frames per second of a video to keep (default: all).
    Several samples of one id are an error; `remove_duplicates` keeps the first of each. Samples are
    written in an order shuffled by `seed` (None: the source's order), in shards of at most `shard_bytes`, by
    `workers` threads (default: all cores). JPEGs are rewritten losslessly unless `keep_bytes`; `max_side`
    (or `short_side`) and `quality` encode again what is larger, or everything; `raw` stores decoded pixels. What cannot
    be packed stops the run, or with on_error="skip" is listed in the report. `force` replaces a dataset, or an
    unfinished one of another source or other settings, that is in the way.

    `extend` adds the samples to the dataset that is there; those whose keys it has are an error, or with
    `remove_duplicates` left out. `engine` says who does the work (default: this process), such as
    penstock.ray.Cluster, of which `workers` is then how many to use.
    """
    _check(on_error, shard_bytes, workers)
    recipe = Recipe(keep_bytes, max_side, short_side, quality, raw)
    # Access is for whichever of the two is far; with neither, it is refused.
    is_source_far = is_url(os.fspath(source)) or OBJECT_LIST.detects(os.fspath(source))
    place = place_at(os.fspath(destination), None if is_source_far and not is_url(os.fspath(destination)) else access)
    if place.lies_in(os.fspath(source)):
        got, expected = shown(os.fspath(destination)), "a folder elsewhere"
        raise UsageError("the dataset would lie inside its source", got=got, expected=expected)

    # What there is, and the order to write it in.
    options = Options(_text(labels), _text(masks), _text(root), label_name, subset, frame_rate, recipe, access)
    found = one_of_each(open_source(os.fspath(source), kind, options), remove_duplicates=remove_duplicates)
    if raw and any(kind_of(field) == "clip" for field in found.fields):
        raise UsageError("raw stores images as pixels, but these are clips", file=shown(os.fspath(source)))
    _stop_at(found.skipped, on_error)
    settings = {"seed": seed, "shard_bytes": shard_bytes, **recipe.as_dict()}
    settings |= {} if frame_rate is None else {"frame_rate": frame_rate}
    extended = Extended.at(place) if extend else None
    if extended is None:
        task = _new(place, found, settings, force=force)
    else:
        task = _extension(extended, found, settings, force=force, leaves_out=remove_duplicates)
    said = [os.fspath(path) for path in (source, destination, masks, root) if path is not None]
    paths = tuple(path for path in said if not is_url(path))
    with task.journal as journal:
        resumed = 0
        if not task.is_done:
            work = Work(journal.begun, task.source, recipe, workers, paths)
            first = 0 if extended is None else extended.next_shard
            with (
                (engine or Threads()).begin(work) as run,
                ShardWriter(place, journal, run, shard_bytes, first) as writer,
            ):
                resumed, totals = writer.items, task.totals
                _stop_at(writer.skipped, on_error)
                # Files become tar members, wherever; what an earlier run finished is not made again.
                with closing(run.items(task.order, resumed)) as stream:
                    for item in stream:
                        _stop_at([item] if isinstance(item, Skipped) else [], on_error)
                        # Members go into a shard; a full one is made lasting and journalled.
                        writer.add(item)
                        if progress is not None:
                            progress(_progress(totals, writer, resumed))
                # Rows become the index; the manifest, last, makes it a dataset.
                publish(place, task.source, settings, writer, extended)
        manifest = decode_manifest(place.store.read(MANIFEST_NAME), MANIFEST_NAME)
        if extended is not None:
            remove_older_indexes(place, manifest.index.file)
        journal.remove()
    return _report(place, manifest, task, resumed)


def _check(on_error: str, shard_bytes: int, workers: int | None) -> None:
    if on_error not in {"raise", "skip"}:
        raise UsageError("on_error is unknown", got=repr(on_error), expected="'raise' or 'skip'")
    if shard_bytes < 1 or (workers is not None and workers < 1):
        raise UsageError("shard_bytes and workers are at least 1", got=f"{shard_bytes} and {workers}")


def _text(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


def _stop_at(skipped: Iterable[Skipped], on_error: str) -> None:
    """Raise the first that is an error, if errors are to stop. A file that is no image by its very name is none."""
    if on_error == "raise":
        for item in skipped:
            if not item.is_expected:
                raise item.error()


def _progress(totals: tuple[int, int], writer: ShardWriter, resumed: int) -> PackProgress:
    counts = dict(writer.outcomes)
    return PackProgress(writer.items, totals[0], writer.source_bytes, totals[1], writer.stored_bytes, resumed, counts)


def _report(place: Place, manifest: Manifest, task: _Task, resumed: int) -> PackReport:
    stored = sum(shard.bytes for shard in manifest.shards) + manifest.index.bytes
    return PackReport(
        path=place.store.place,
        samples=manifest.samples,
        shards=len(manifest.shards),
        source_bytes=manifest.provenance["source"]["bytes"],
        payload_bytes=sum(summary["bytes"] for summary in manifest.fields.values()),
        stored_bytes=stored + (place.size(MANIFEST_NAME) or 0),
        outcomes=manifest.provenance["outcomes"],
        kept=manifest.provenance["kept"],
        skipped=tuple(Skipped.from_dict(item) for item in manifest.provenance["skipped"]),
        resumed_items=resumed,
        added=manifest.samples - task.before,
        already_there=task.already_there,
    )
