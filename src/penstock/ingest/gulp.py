"""GulpIO's directories (versions 1 and 2): read where they are, or packed.

    data_0.gulp, data_1.gulp, …      chunks of JPEGs (gulp_meta.py)
    meta_0.gmeta, meta_1.gmeta, …    which bytes of the chunk of this number are whose, and what is said of them
    label2idx.json                   {label: number}; may be missing: labels are numbered in sorted order then

Samples are in GulpIO's own order: chunks by name (10 before 2), items as their meta has them. Items of one frame each
are images, others clips. The member `label` of an item becomes the label; `id` and `idx` are left out where they only
say again what is known; every other member becomes a column (record_labels.py).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.errors import SourceError
from penstock.ingest.csv_20bn import classes_of
from penstock.ingest.gulp_directory import LABELS_NAME, is_chunk, look_at, read_items, read_labels
from penstock.ingest.items import Ranges
from penstock.ingest.kind import Kind, Seen
from penstock.ingest.record_labels import labels_of_records
from penstock.ingest.source import UNLABELLED, Skipped, Source, shown
from penstock.shard.keys import unique_keys
from penstock.storage.location import is_url
from penstock.types import Frames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.ingest.gulp_directory import GulpDirectory, GulpEntry
    from penstock.ingest.kind import Options

__all__ = ["GULP"]


def _listed(path: str, options: Options) -> Source:
    """List the items of all chunks."""
    directory = look_at(path, options.access)
    items, skipped = read_items(directory)
    labels, classes = _labels(path, items, directory, options, skipped)
    if labels is not None:
        items = [item for item, label in zip(items, labels, strict=True) if label is not None]
        labels = [label for label in labels if label is not None]
    if not items:
        got = str(skipped[0]) if skipped else "no data*.gulp with a meta*.gmeta"
        raise SourceError("there are no items", file=shown(path), got=got, expected="chunks of GulpIO")
    keys, suffixes = unique_keys([item.id for item in items])
    field, ranges = _ranges(directory, items, suffixes)
    table, _, left_out = labels_of_records(_not_known(items, options, labels), [field], path)
    if labels is not None:
        table = table.add_column(0, "label", [pa.array(labels)]) if table.column_names else pa.table({"label": labels})
    return Source("gulp", {field: ranges}, keys, table, classes, (*skipped, *left_out))


def _not_known(
    items: Sequence[GulpEntry], options: Options, labels: Sequence[int | None] | None
) -> list[dict[str, Any]]:
    """Give the members of items that do not say once more, all of them, what is known of the items already."""
    said = [item.found.said for item in items]
    again = set() if labels is None else {options.label_name or "label", "label"}
    if labels is not None and all(one.get("idx") == label for one, label in zip(said, labels, strict=True)):
        again.add("idx")
    if all(str(one.get("id", item.id)) == item.id for one, item in zip(said, items, strict=True)):
        again.add("id")
    return [{name: value for name, value in one.items() if name not in again} for one in said]


def _member_at(said: Mapping[str, Any], name: str) -> Any:
    """Give a member, or with dots in the name one of an object inside; None where there is none."""
    if name in said:
        return said[name]
    found: Any = said
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _labels(
    path: str, items: Sequence[GulpEntry], directory: GulpDirectory, options: Options, skipped: list[Skipped]
) -> tuple[list[int | None] | None, tuple[str, ...] | None]:
    """Give items' labels as numbers; None, reported, where one has none. None at all where no item has one."""
    named = [_member_at(item.found.said, options.label_name or "label") for item in items]
    if all(name is None for name in named):
        if options.label_name is not None:
            raise SourceError("no item has this label", file=shown(path), got=repr(options.label_name))
        return None, None
    if all(isinstance(name, int) and not isinstance(name, bool) for name in named) and not directory.has_labels:
        return named, None
    known = [str(name) for name in named if name is not None]
    if options.labels is not None or not directory.has_labels:
        _, classes = classes_of(known, options.labels, path)
        assert classes is not None
    else:
        classes = read_labels(directory)
    number = {name: position for position, name in enumerate(classes)}
    labels = [None if name is None else number.get(str(name)) for name in named]
    for item, name, label in zip(items, named, labels, strict=True):
        if label is None:
            why = "it has no label" if name is None else f"{LABELS_NAME} does not have its label {name!r:.100}"
            skipped.append(Skipped(_named(directory, item), UNLABELLED, why))
    return labels, classes


def _named(directory: GulpDirectory, item: GulpEntry) -> str:
    return shown(f"{directory.chunks[item.chunk].data}: {item.id}")


def _ranges(directory: GulpDirectory, items: Sequence[GulpEntry], suffixes: Sequence[str]) -> tuple[str, Ranges]:
    """Say which bytes are whose: of clips, and where in them the frames are."""
    counts = np.array([len(item.found.start) for item in items])
    first = np.concatenate([[0], np.cumsum(counts)])
    start, length = (np.concatenate([getattr(item.found, part) for item in items]) for part in ("start", "length"))
    begin = np.minimum.reduceat(start, first[:-1])
    is_clip = bool(counts.max() > 1)
    frames = Frames(first, start - np.repeat(begin, counts), length, None) if is_clip else None
    ranges = Ranges(
        store=directory.store,
        files=tuple(chunk.data for chunk in directory.chunks),
        file_bytes=np.array([chunk.size for chunk in directory.chunks], np.int64),
        stamp=directory.stamp,
        file=np.array([item.chunk for item in items], np.int32),
        offset=begin,
        sizes=np.maximum.reduceat(start + length, first[:-1]) - begin,
        names=[item.id for item in items],
        suffixes=suffixes,
        frames=frames,
    )
    return "clip" if is_clip else "image", ranges


def _seen(path: str, options: Options) -> Seen:
    """Look at the chunks."""
    directory = look_at(path, options.access)
    names = tuple(chunk.data for chunk in directory.chunks)
    sizes = np.array([chunk.size for chunk in directory.chunks], np.int64)
    return Seen(directory.store, names, sizes, directory.stamp)


def _detects(path: str) -> bool:
    """Whether this is a folder that has a chunk, or a URL that is called as directories of GulpIO are."""
    if is_url(path):
        return path.rstrip("/").endswith(".gulp")
    try:
        with os.scandir(path) as entries:
            return any(is_chunk(entry.name) for entry in entries)
    except OSError:
        return False


GULP = Kind(
    name="gulp",
    what="a directory of GulpIO: data_*.gulp, meta_*.gmeta",
    detects=_detects,
    listed=_listed,
    options=frozenset({"labels", "label_name"}),
    seen=_seen,
)
