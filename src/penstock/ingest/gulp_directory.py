"""What there is in a directory of GulpIO: chunks and their metas, items and their places, and what does not fit.

A chunk cannot vouch for itself: no checksum, no mark, and a run that was killed leaves data without a meta. So sizes,
numbers and ids are compared, and whatever does not fit is named. What is lost can only be made again, from the source.
"""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import FormatError, PenstockError, SourceError, StorageError
from penstock.ingest.gulp_meta import GulpItem, decode_meta, unclaimed_bytes
from penstock.ingest.source import BROKEN, UNREADABLE, Skipped, shown
from penstock.shard.manifest import check_inside
from penstock.storage.local import storage_error
from penstock.storage.object import ObjectStore
from penstock.storage.where import store_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.storage.local import LocalStore
    from penstock.storage.location import Access
    from penstock.storage.store import Store

__all__ = [
    "LABELS_NAME",
    "GulpDirectory",
    "GulpEntry",
    "existing_directory",
    "is_chunk",
    "look_at",
    "read_items",
    "read_labels",
]

LABELS_NAME = "label2idx.json"
_AT_ONCE = 16  # metas that are read at a time
_DATA, _META = re.compile(r"data.*\.gulp"), re.compile(r"meta.*\.gmeta")


@dataclass(frozen=True, slots=True)
class _Chunk:
    number: int
    data: str
    meta: str
    size: int  # of the data


@dataclass(frozen=True, slots=True)
class GulpDirectory:
    """What there is, before any of it is read."""

    store: Store
    chunks: tuple[_Chunk, ...]  # by the data's names
    skipped: tuple[Skipped, ...]
    stamp: str
    has_labels: bool


@dataclass(frozen=True, slots=True)
class GulpEntry:
    """An item, and which chunk it is in."""

    id: str
    chunk: int  # a position among those of the directory
    found: GulpItem


def look_at(path: str, access: Access | None = None) -> GulpDirectory:
    """Pair data and metas by their numbers. The path may be a URL of a store that lists."""
    store = store_at(path, access)
    found = _files(store)
    skipped: list[Skipped] = []
    data, metas = (_numbered(path, sorted(filter(kind.fullmatch, found)), skipped) for kind in (_DATA, _META))
    for number, name in data.items():
        if number not in metas:
            skipped.append(Skipped(shown(name), BROKEN, f"no meta has the number {number}: nothing says what is in it"))
    for number, name in metas.items():
        if number not in data:
            skipped.append(Skipped(shown(name), UNREADABLE, f"no data has the number {number}: its items are lost"))
    both = [number for number in data if number in metas]
    chunks = tuple(_Chunk(number, data[number], metas[number], found[data[number]][0]) for number in both)
    named = sorted([*data.values(), *metas.values(), *({LABELS_NAME} & found.keys())])
    stamp = repr([(name, *found[name]) for name in named])
    return GulpDirectory(store, chunks, tuple(skipped), stamp, LABELS_NAME in found)


def _files(store: LocalStore | ObjectStore) -> dict[str, tuple[int, int | str | None]]:
    """List what lies in a directory itself: sizes, and times or tags."""
    if isinstance(store, ObjectStore):
        return {one.name: (one.size, one.etag) for one in store.list() if "/" not in one.name}
    try:
        with os.scandir(store.place) as entries:
            status = {entry.name: entry.stat() for entry in entries if entry.is_file()}
    except OSError as error:
        raise storage_error(error, store.place) from error
    return {name: (one.st_size, one.st_mtime_ns) for name, one in status.items()}


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


def read_items(directory: GulpDirectory) -> tuple[list[GulpEntry], list[Skipped]]:
    """Read the metas; items, and what is wrong."""
    items: list[GulpEntry] = []
    skipped = list(directory.skipped)
    chunk_of: dict[str, str] = {}  # by id
    for number, (chunk, decoded) in enumerate(zip(directory.chunks, _metas(directory), strict=True)):
        if isinstance(decoded, PenstockError):
            outcome = UNREADABLE if isinstance(decoded, StorageError) else BROKEN
            why = f"{decoded.what}; the items in {shown(chunk.data)} are lost"
            skipped.append(Skipped(shown(chunk.meta), outcome, why))
            continue
        good: list[GulpItem] = []
        for id_, found in decoded:
            why = found if isinstance(found, str) else _wrong(id_, found, chunk, chunk_of)
            if isinstance(found, GulpItem) and not why:
                chunk_of[id_] = chunk.meta
                good.append(found)
                items.append(GulpEntry(id_, number, found))
            else:
                printable = id_.encode("utf-8", "backslashreplace").decode()
                skipped.append(Skipped(shown(f"{chunk.data}: {printable}"), BROKEN, why))
        spare = unclaimed_bytes(good, chunk.size) if len(good) == len(decoded) else 0
        if spare:
            skipped.append(Skipped(shown(chunk.data), BROKEN, f"{spare} bytes in it are of no item: was a run killed?"))
        elif not decoded:
            skipped.append(Skipped(shown(chunk.data), BROKEN, "neither it nor its meta holds an item"))
    return items, skipped


def _metas(directory: GulpDirectory) -> Iterator[list[tuple[str, GulpItem | str]] | PenstockError]:
    """Read and decode the metas, some at a time: a store may be far away."""

    def read(chunk: _Chunk) -> list[tuple[str, GulpItem | str]] | PenstockError:
        try:
            return decode_meta(directory.store.read(chunk.meta))
        except (StorageError, SourceError) as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for start in range(0, len(directory.chunks), _AT_ONCE):
            yield from pool.map(read, directory.chunks[start : start + _AT_ONCE])


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


def is_chunk(name: str) -> bool:
    """Whether this is the name of a chunk's data."""
    return _DATA.fullmatch(name) is not None


def read_labels(directory: GulpDirectory) -> tuple[str, ...]:
    """Read the classes, in the order of their numbers."""
    where, data = f"{directory.store.place}/{LABELS_NAME}", directory.store.read(LABELS_NAME)
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


def existing_directory(path: str) -> tuple[int, set[str], dict[str, int]]:
    """Say what a directory that is to be extended has: the next chunk's number, ids, numbers of labels."""
    directory = look_at(path)
    items, skipped = read_items(directory)
    if skipped:
        hint = "mend or remove it before the directory is extended"
        raise SourceError(f"the directory is not sound: {skipped[0]}", file=shown(path), hint=hint)
    labels = read_labels(directory) if directory.has_labels else ()
    last = max((chunk.number for chunk in directory.chunks), default=-1)
    return last + 1, {item.id for item in items}, {name: n for n, name in enumerate(labels)}
