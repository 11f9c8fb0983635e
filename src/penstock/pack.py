"""The write path: a source becomes a packed dataset.

    list the source → order it → [threads] read, recognise, rewrite, check, lay out
                               → [one writer] append to a shard; when it is full: make it lasting, journal
    all shards there → index → manifest, last

Everything that takes time happens in the threads; the writer only appends, so its order alone decides the bytes. They
are the same for any number of workers and however often the run was killed: shards end where the next sample does not
fit, the order is a function of keys and seed, and nothing stored knows the time or the machine.

After a kill the journal (storage/journal.py) holds every finished shard's rows; the same call goes on behind them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SourceError, UsageError
from penstock.ingest.duplicates import one_of_each
from penstock.ingest.kind import Options
from penstock.ingest.kinds import open_source
from penstock.ingest.recipe import Recipe
from penstock.ingest.source import SKIPPED_OUTCOMES, Skipped, Source, shown
from penstock.ingest.transcode import transcoded
from penstock.pipeline.cores import allowed_cores
from penstock.shard.checks import sha256
from penstock.shard.index import encode_index
from penstock.shard.manifest import INDEX_NAME, MANIFEST_NAME, IndexEntry, Manifest, decode_manifest
from penstock.shard.members import kind_of
from penstock.shard.write_order import write_order
from penstock.storage.where import place_at
from penstock.writer import ShardWriter, claim, is_published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.storage.location import Access
    from penstock.storage.place import Place

__all__ = ["SHARD_BYTES", "PackProgress", "PackReport", "pack"]

SHARD_BYTES = 256 * 1024 * 1024  # large enough to read sequentially, small enough to lose to a kill
_VERSION = version("penstock")


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

    def as_dict(self) -> dict[str, Any]:
        """Give the report for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Settings:
    """What shapes the bytes besides the source."""

    seed: int | None
    shard_bytes: int
    recipe: Recipe
    frame_rate: float | None = None

    def as_dict(self) -> dict[str, Any]:
        found = {"seed": self.seed, "shard_bytes": self.shard_bytes, **self.recipe.as_dict()}
        return found if self.frame_rate is None else {**found, "frame_rate": self.frame_rate}


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
    """
    if on_error not in {"raise", "skip"}:
        raise UsageError("on_error is unknown", got=repr(on_error), expected="'raise' or 'skip'")
    if shard_bytes < 1 or (workers is not None and workers < 1):
        raise UsageError("shard_bytes and workers are at least 1", got=f"{shard_bytes} and {workers}")
    recipe = Recipe(keep_bytes, max_side, short_side, quality, raw)
    settings = _Settings(seed, shard_bytes, recipe, frame_rate)
    place = place_at(os.fspath(destination), access)
    if place.lies_in(os.fspath(source)):
        got, expected = shown(os.fspath(destination)), "a folder elsewhere"
        raise UsageError("the dataset would lie inside its source", got=got, expected=expected)

    # What there is, and the order to write it in.
    options = Options(_text(labels), _text(masks), _text(root), label_name, subset, frame_rate, recipe, access)
    found = one_of_each(open_source(os.fspath(source), kind, options), remove_duplicates=remove_duplicates)
    if raw and any(kind_of(field) == "clip" for field in found.fields):
        raise UsageError("raw stores images as pixels, but these are clips", file=shown(os.fspath(source)))
    _stop_at(found.skipped, on_error)
    order = write_order(found.keys, seed)
    plan = json.dumps({"penstock": _VERSION, "source": found.digest(), "settings": settings.as_dict()}).encode()
    with claim(place, plan, force=force) as journal:
        resumed = 0
        if not is_published(place):
            with ShardWriter(place, journal, tuple(found.fields), found.labels.schema, shard_bytes) as writer:
                resumed, totals = writer.items, (len(found), found.bytes)
                _stop_at(writer.skipped, on_error)
                # Files become tar members, in threads; what an earlier run finished is not made again.
                with closing(transcoded(found, order[resumed:], settings.recipe, workers or allowed_cores())) as stream:
                    for item in stream:
                        _stop_at([item] if isinstance(item, Skipped) else [], on_error)
                        # Members are appended to a shard; a full one is made lasting and journalled.
                        writer.add(item)
                        if progress is not None:
                            progress(_progress(totals, writer, resumed))
                # Rows become the index; the manifest, last, makes it a dataset.
                _publish(place, found, settings, writer)
        journal.remove()
    return _report(place, resumed)


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


def _publish(place: Place, found: Source, settings: _Settings, writer: ShardWriter) -> None:
    """Write the index, then the manifest."""
    done = writer.finish()
    skipped = sorted({*found.skipped, *writer.skipped}, key=lambda item: (item.name, item.outcome, item.why))
    if not done:
        example = str(skipped[0]) if skipped else None
        file, expected = shown(place.store.place), "at least one image"
        raise SourceError("nothing could be packed", file=file, got=example, expected=expected)
    table = pa.concat_tables([piece.rows for piece in done])
    index = encode_index(table)
    place.write(INDEX_NAME, index)
    outcomes = Counter(item.outcome for item in skipped)
    kept: Counter[str] = Counter()
    for piece in done:
        outcomes.update({name: count for name, count in piece.outcomes.items() if name not in SKIPPED_OUTCOMES})
        kept.update(piece.kept)
    source_bytes = sum(piece.source_bytes for piece in done)
    manifest = Manifest(
        samples=len(table),
        fields={field: _field_summary(table, field) for field in found.fields},
        labels={column.name: str(column.type) for column in found.labels.schema},
        classes=found.classes,
        index=IndexEntry(INDEX_NAME, index.size, sha256(index)),
        shards=tuple(piece.entry for piece in done),
        pack=settings.as_dict(),
        provenance={
            "penstock": _VERSION,
            "source": {"kind": found.kind, "files": len(table) * len(found.fields), "bytes": source_bytes},
            "outcomes": dict(sorted(outcomes.items())),
            "kept": dict(sorted(kept.items())),
            "skipped": [item.as_dict() for item in skipped],
        },
    )
    writer.confirm()
    place.write(MANIFEST_NAME, manifest.encode())


def _field_summary(table: pa.Table, field: str) -> dict[str, Any]:
    counts = pc.value_counts(table.column(f"{field}.format").cast(pa.string())).to_pylist()
    formats = dict(sorted((item["values"], item["counts"]) for item in counts))
    return {"formats": formats, "bytes": pc.sum(table.column(f"{field}.length")).as_py()}


def _report(place: Place, resumed: int) -> PackReport:
    encoded = place.store.read(MANIFEST_NAME)
    manifest = decode_manifest(encoded, os.path.join(place.store.place, MANIFEST_NAME))
    return PackReport(
        path=place.store.place,
        samples=manifest.samples,
        shards=len(manifest.shards),
        source_bytes=manifest.provenance["source"]["bytes"],
        payload_bytes=sum(summary["bytes"] for summary in manifest.fields.values()),
        stored_bytes=sum(shard.bytes for shard in manifest.shards) + manifest.index.bytes + len(encoded),
        outcomes=manifest.provenance["outcomes"],
        kept=manifest.provenance["kept"],
        skipped=tuple(Skipped.from_dict(item) for item in manifest.provenance["skipped"]),
        resumed_items=resumed,
    )
