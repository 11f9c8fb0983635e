"""Loose objects that a list names, to be packed: the images of a bucket or a folder, as `penstock index` lists them.

The list says which (object_list.py); the store is asked for their sizes and tags, even where the list has sizes, so
what is not there any more, or is another object by now, is named before anything is packed. Each is then read whole,
with its checksum where the list has one. In place a list is opened by object_index.py, which asks for less.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import SourceError
from penstock.ingest.kind import Kind
from penstock.ingest.listed import Rows, files_named
from penstock.ingest.object_index import classes_of, looked_up, root_of
from penstock.ingest.object_list import decode_list, is_object_list
from penstock.ingest.source import UNREADABLE, Skipped, Source, shown
from penstock.shard.checks import crc32c
from penstock.shard.keys import escape, unique_keys
from penstock.storage.location import is_url
from penstock.storage.object import ObjectStore
from penstock.storage.ranges import plan_reads
from penstock.storage.where import read_anywhere

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from penstock.ingest.items import Items
    from penstock.ingest.kind import Options
    from penstock.ingest.object_list import ObjectList

__all__ = ["OBJECT_LIST"]

_COLUMNS = frozenset({"key", "size", "label", "crc32c"})


@final
@dataclass(frozen=True, slots=True)
class Objects:
    """Whole objects of a store."""

    store: ObjectStore
    names: list[str]
    sizes: NDArray[np.int64]
    tags: tuple[str, ...]
    sums: NDArray[np.uint32] | None
    suffixes: list[str]
    is_far: bool = True

    def __len__(self) -> int:
        return len(self.names)

    def name(self, position: int) -> str:
        """Say what an object is called."""
        return escape(self.names[position])

    def read(self, position: int) -> list[bytes]:
        """Read an object."""
        size = self.sizes[position : position + 1]
        plan = plan_reads(np.zeros(1, np.int32), np.zeros(1, np.int64), size)
        block = np.empty(plan.block_bytes, np.uint8)
        begun = self.store.begin([self.names[position]], plan, block, sizes=size.tolist())
        for failure in begun.failures():
            raise failure.error or SourceError("the object became shorter while it was read")
        data = block.tobytes()
        if self.sums is not None and crc32c(data) != self.sums[position]:
            raise SourceError("the object has another checksum than when it was indexed")
        return [data]

    def identity(self) -> Iterator[bytes]:
        """Give the place, names, sizes, tags, checksums."""
        yield "\0".join((self.store.place, *self.names, *self.tags)).encode()
        yield self.sizes.tobytes()
        yield b"" if self.sums is None else self.sums.tobytes()


def _listed(path: str, options: Options) -> Source:
    """List the objects."""
    objects = decode_list(read_anywhere(path, options.access if is_url(path) else None), path)
    place = root_of(objects, path, options.root, options.access)
    named = objects.classes or classes_of(objects.keys, None, None)
    if options.labels is not None:
        named = classes_of(objects.keys, options.labels, options.access if is_url(options.labels) else None)
    labels = pa.table({} if named is None else {"label": pa.array(named.labels)})
    keys, suffixes = unique_keys(objects.keys)
    items: Items
    if is_url(place):
        items, kept, skipped = _in_store(ObjectStore(place, options.access), objects, suffixes)
    else:
        items, kept, skipped = files_named(place, objects.keys, Rows(path, objects.keys, labels, None))
    if not kept:
        hint = "say what the keys are below: --root (root=…)"
        raise SourceError("no object of the index is there", file=shown(path), got=str(skipped[0]), hint=hint)
    rows = labels.take(pa.array(kept, pa.int64())) if labels.column_names else labels
    names = None if named is None else named.names
    return Source("object-list", {"image": items}, [keys[at] for at in kept], rows, names, tuple(skipped))


def _in_store(
    store: ObjectStore, objects: ObjectList, suffixes: Sequence[str]
) -> tuple[Objects, list[int], list[Skipped]]:
    """Look objects up in a store; those that are as the list says, their numbers, and the others."""
    found, kept, skipped = looked_up(store, objects.keys), list[int](), list[Skipped]()
    for at, one in enumerate(found):
        stated = None if objects.sizes is None else int(objects.sizes[at])
        if one is None or stated not in {None, one.size}:
            why = "no such object" if one is None else f"it has {one.size:,} bytes, where the index says {stated:,}"
            skipped.append(Skipped(shown(objects.keys[at]), UNREADABLE, why))
        else:
            kept.append(at)
    there = [one for at in kept if (one := found[at]) is not None]
    sums = None if objects.checksums is None else objects.checksums[kept]
    items = Objects(
        ObjectStore(store.location, store.access, compares=sums is None),
        [objects.keys[at] for at in kept],
        np.array([one.size for one in there], np.int64),
        tuple(one.etag or "" for one in there),
        sums,
        [suffixes[at] for at in kept],
    )
    return items, kept, skipped


def _detects(path: str) -> bool:
    """Whether this is an array of texts, or a table with the columns of a list and no others; a URL by its name."""
    if not is_object_list(path):
        return False
    if is_url(path):
        return True
    try:
        if path.lower().endswith(".parquet"):
            return {"key"} <= set(pq.read_schema(path).names) <= _COLUMNS
        with open(path, encoding="utf-8") as file:
            found = json.load(file) if file.read(64).lstrip().startswith("[") and file.seek(0) == 0 else None
    except (OSError, ValueError, pa.ArrowException):
        return False
    return isinstance(found, list) and bool(found) and all(isinstance(key, str) for key in found)


OBJECT_LIST = Kind(
    name="object-list",
    what="a list of loose images, here or in a store, as `penstock index` writes it: an array of keys, or Parquet",
    detects=_detects,
    listed=_listed,
    options=frozenset({"root", "labels"}),
)
