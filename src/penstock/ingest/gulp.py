"""GulpIO's directories (versions 1 and 2): read where they are, or packed.

    data_0.gulp, data_1.gulp, …      chunks of JPEGs (gulp_meta.py)
    meta_0.gmeta, meta_1.gmeta, …    which bytes of the chunk of this number are whose, and what is said of them
    label2idx.json                   {label: number}; may be missing: labels are numbered in sorted order then

Samples are in GulpIO's own order: chunks by name (10 before 2), items as their meta has them. Items of one frame each
are images, others clips. The member `label` of an item becomes the label; `id` and `idx` are
left out where they only say again what is known; every other member becomes a column (json_labels.py).

A chunk cannot vouch for itself: no checksum, no mark, and a run that was killed leaves data without a meta. So sizes,
numbers and ids are compared, and whatever does not fit is named. What is lost can only be made again, from the source.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.errors import FormatError, SourceError, StorageError
from penstock.ingest.csv_20bn import classes_of
from penstock.ingest.gulp_meta import GulpItem, decode_meta, unclaimed_bytes
from penstock.ingest.items import Ranges
from penstock.ingest.json_labels import json_columns, member_at
from penstock.ingest.kind import Kind, Seen
from penstock.ingest.source import BROKEN, UNLABELLED, UNREADABLE, Skipped, Source, shown
from penstock.shard.keys import unique_keys
from penstock.shard.manifest import check_inside
from penstock.storage.local import LocalStore, storage_error
from penstock.types import Frames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.ingest.kind import Options

__all__ = ["GULP", "LABELS_NAME", "existing_directory"]

LABELS_NAME = "label2idx.json"
_DATA, _META = re.compile(r"data.*\.gulp"), re.compile(r"meta.*\.gmeta")


@dataclass(frozen=True, slots=True)
class _Chunk:
    data: str
    meta: str
    size: int  # of the data


@dataclass(frozen=True, slots=True)
class _Directory:
    """What there is, before any of it is read."""

    chunks: tuple[_Chunk, ...]  # by the data's names
    skipped: tuple[Skipped, ...]
    stamp: str
    has_labels: bool


@dataclass(frozen=True, slots=True)
class _Item:
    id: str
    chunk: int
    found: GulpItem


def _looked_at(path: str) -> _Directory:
    """Pair data and metas by their numbers."""
    try:
        with os.scandir(path) as entries:
            status = {entry.name: entry.stat() for entry in entries if entry.is_file()}
    except OSError as error:
        raise storage_error(error, path) from error
    skipped: list[Skipped] = []
    data, metas = (_numbered(path, sorted(filter(kind.fullmatch, status)), skipped) for kind in (_DATA, _META))
    for number, name in data.items():
        if number not in metas:
            skipped.append(Skipped(shown(name), BROKEN, f"no meta has the number {number}: nothing says what is in it"))
    for number, name in metas.items():
        if number not in data:
            skipped.append(Skipped(shown(name), UNREADABLE, f"no data has the number {number}: its items are lost"))
    both = [number for number in data if number in metas]
    chunks = tuple(_Chunk(data[number], metas[number], status[data[number]].st_size) for number in both)
    named = sorted([*data.values(), *metas.values(), *({LABELS_NAME} & status.keys())])
    stamp = repr([(name, status[name].st_size, status[name].st_mtime_ns) for name in named])
    return _Directory(chunks, tuple(skipped), stamp, LABELS_NAME in status)


def _numbered(path: str, names: Sequence[str], skipped: list[Skipped]) -> dict[int, str]:
    """Read the numbers off files' names: the first digits, as GulpIO does."""
    found: dict[int, str] = {}
    for name in names:
        digits = re.search(r"\d+", name)
        if digits is None:
            skipped.append(Skipped(shown(name), BROKEN, "its name has no number"))
            continue
        first = found.setdefault(int(digits[0]), name)
        if first != name:
            got = f"{shown(first)} and {shown(name)}"
            raise SourceError("two files have one number", file=shown(path), got=got, expected="a number per chunk")
    return found


def _items(path: str, directory: _Directory) -> tuple[list[_Item], list[Skipped]]:
    """Read the metas; items, and what is wrong."""
    items: list[_Item] = []
    skipped = list(directory.skipped)
    chunk_of: dict[str, str] = {}  # by id
    store = LocalStore(path)
    for number, chunk in enumerate(directory.chunks):
        try:
            decoded = decode_meta(store.read(chunk.meta))
        except (StorageError, SourceError) as error:
            outcome = UNREADABLE if isinstance(error, StorageError) else BROKEN
            skipped.append(
                Skipped(shown(chunk.meta), outcome, f"{error.what}; the items in {shown(chunk.data)} are lost")
            )
            continue
        good: list[GulpItem] = []
        for id_, found in decoded:
            why = found if isinstance(found, str) else _wrong(id_, found, chunk, chunk_of)
            if isinstance(found, GulpItem) and not why:
                chunk_of[id_] = chunk.meta
                good.append(found)
                items.append(_Item(id_, number, found))
            else:
                skipped.append(Skipped(shown(f"{chunk.data}: {id_}"), BROKEN, why))
        spare = unclaimed_bytes(good, chunk.size) if len(good) == len(decoded) else 0
        if spare:
            skipped.append(Skipped(shown(chunk.data), BROKEN, f"{spare} bytes in it are of no item: was a run killed?"))
        elif not decoded:
            skipped.append(Skipped(shown(chunk.data), BROKEN, "neither it nor its meta holds an item"))
    return items, skipped


def _wrong(id_: str, found: GulpItem, chunk: _Chunk, chunk_of: Mapping[str, str]) -> str:
    """Say what is wrong with an item; nothing, if nothing is."""
    if found.stop > chunk.size:
        return f"its frames end at byte {found.stop}, the data at {chunk.size}"
    if id_ in chunk_of:
        return f"{chunk_of[id_]} has this id, too"
    try:
        id_.encode()
        check_inside(id_, chunk.meta)
    except (UnicodeEncodeError, FormatError):
        return "the id cannot name a sample"
    return ""


def _listed(path: str, options: Options) -> Source:
    """List the items of all chunks."""
    directory = _looked_at(path)
    items, skipped = _items(path, directory)
    labels, classes = _labels(path, items, directory, options, skipped)
    if labels is not None:
        items = [item for item, label in zip(items, labels, strict=True) if label is not None]
        labels = [label for label in labels if label is not None]
    if not items:
        got = str(skipped[0]) if skipped else "no data*.gulp with a meta*.gmeta"
        raise SourceError("there are no items", file=shown(path), got=got, expected="chunks of GulpIO")
    keys, suffixes = unique_keys([item.id for item in items])
    field, ranges = _ranges(path, directory, items, suffixes)
    rest = _not_known(items, options, labels)
    columns = ({} if labels is None else {"label": pa.array(labels)}) | json_columns(rest)
    return Source("gulp", {field: ranges}, keys, pa.table(columns), classes, tuple(skipped))


def _not_known(items: Sequence[_Item], options: Options, labels: Sequence[int | None] | None) -> list[dict[str, Any]]:
    """Give the members of items that do not say once more, all of them, what is known of the items already."""
    said = [item.found.said for item in items]
    again = set() if labels is None else {options.label_name or "label"}
    if labels is not None and all(one.get("idx") == label for one, label in zip(said, labels, strict=True)):
        again.add("idx")
    if all(str(one.get("id", item.id)) == item.id for one, item in zip(said, items, strict=True)):
        again.add("id")
    return [{name: value for name, value in one.items() if name not in again} for one in said]


def _labels(
    path: str, items: Sequence[_Item], directory: _Directory, options: Options, skipped: list[Skipped]
) -> tuple[list[int | None] | None, tuple[str, ...] | None]:
    """Give items' labels as numbers; None, reported, where one has none. None at all where no item has one."""
    named = [member_at(item.found.said, options.label_name or "label") for item in items]
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
        classes = _read_labels(path)
    number = {name: position for position, name in enumerate(classes)}
    labels = [None if name is None else number.get(str(name)) for name in named]
    for item, name, label in zip(items, named, labels, strict=True):
        if label is None:
            why = "it has no label" if name is None else f"{LABELS_NAME} does not have its label {name!r:.100}"
            skipped.append(Skipped(_named(directory, item), UNLABELLED, why))
    return labels, classes


def _read_labels(path: str) -> tuple[str, ...]:
    """Read the classes, in the order of their numbers."""
    where, data = os.path.join(path, LABELS_NAME), LocalStore(path).read(LABELS_NAME)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"the labels are not JSON: {error}", file=shown(where)) from error
    numbers: list[Any] = list(found.values()) if isinstance(found, dict) else [None]
    if not all(type(number) is int for number in numbers) or {*numbers} != {*range(len(numbers))}:
        expected = f"{{label: number}}, the numbers 0 to {len(numbers) - 1}"
        hint = "GulpIO's workers all write this file: mend it by hand, or give a file of class names with --labels"
        raise SourceError("the labels are not numbered one by one", file=shown(where), expected=expected, hint=hint)
    return tuple(sorted(found, key=lambda name: int(found[name])))


def _named(directory: _Directory, item: _Item) -> str:
    return shown(f"{directory.chunks[item.chunk].data}: {item.id}")


def _ranges(path: str, directory: _Directory, items: Sequence[_Item], suffixes: Sequence[str]) -> tuple[str, Ranges]:
    """Say which bytes are whose: of clips, and where in them the frames are."""
    counts = np.array([len(item.found.start) for item in items])
    first = np.concatenate([[0], np.cumsum(counts)])
    start, length = (np.concatenate([getattr(item.found, part) for item in items]) for part in ("start", "length"))
    begin = np.minimum.reduceat(start, first[:-1])
    is_clip = bool(counts.max() > 1)
    frames = Frames(first, start - np.repeat(begin, counts), length, None) if is_clip else None
    ranges = Ranges(
        store=LocalStore(path),
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
    """Look at the chunks. Options change what their labels are, not what there is."""
    del options
    directory = _looked_at(path)
    names = tuple(chunk.data for chunk in directory.chunks)
    sizes = np.array([chunk.size for chunk in directory.chunks], np.int64)
    return Seen(LocalStore(path), names, sizes, directory.stamp)


def existing_directory(path: str) -> tuple[int, set[str], dict[str, int]]:
    """Say what a directory that is to be extended has: the next chunk's number, ids, numbers of labels."""
    directory = _looked_at(path)
    items, skipped = _items(path, directory)
    if skipped:
        hint = "mend or remove it before the directory is extended"
        raise SourceError(f"the directory is not sound: {skipped[0]}", file=shown(path), hint=hint)
    labels = _read_labels(path) if directory.has_labels else ()
    numbers = [int(found[0]) for chunk in directory.chunks if (found := re.search(r"\d+", chunk.data))]
    return max(numbers, default=-1) + 1, {item.id for item in items}, {name: n for n, name in enumerate(labels)}


def _detects(path: str) -> bool:
    """Whether this is a folder that has a chunk."""
    try:
        with os.scandir(path) as entries:
            return any(_DATA.fullmatch(entry.name) for entry in entries)
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
