"""An index over untouched files, in a folder or a store.

Of a folder of images and of loose objects, row i is file i, each file one sample from its first byte to its last. Of
files that others packed (tars, GulpIO, LMDB) there are few, each with many samples, and the table says which part of
which file a row is.

The table may be kept in the user's cache folder; it is then by its path, and not by its rows, that the index travels to
other processes.
"""

from __future__ import annotations

import json
import logging
import os
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import FormatError
from penstock.ingest.source import Skipped, shown
from penstock.shard.index import fields_of, file_positions, labels_of, numpy_of
from penstock.shard.keys import unescape
from penstock.storage.files import StoredFiles
from penstock.types import UNREAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.storage.cache import Cache
    from penstock.storage.store import Store

__all__ = ["FileIndex", "decode_index", "file_table", "kept_index", "said_of_all", "unread"]

_MEMBER = b"penstock.in_place"


@final
class FileIndex:
    """The rows of some files of a store."""

    def __init__(self, store: Store, table: pa.Table, stored_at: str | None) -> None:
        self.path, self.stored = store.place, StoredFiles(store, self.names, self._sizes)
        self._cache: Cache | None = None
        self.table = table
        self._stored_at = stored_at  # where another process can read it
        self.parts: tuple[int, ...] = (len(self),)
        rest = json.loads(table.schema.metadata[_MEMBER])
        self.few: list[str] | None = None  # where a file has many samples: the files
        self.file_count, self.file_bytes = len(self), None
        if rest.get("files") is not None:
            self.few, sizes = [name for name, _ in rest["files"]], [size for _, size in rest["files"]]
            self.file_count, self.file_bytes = len(sizes), np.array(sizes, np.int64)
        self.digest: str = rest["digest"]
        self.classes: tuple[str, ...] | None = None if rest["classes"] is None else tuple(rest["classes"])
        self.fields, self.label_names = fields_of(table.schema), labels_of(table.schema)
        self.skipped = tuple(Skipped.from_dict(item) for item in rest["skipped"])
        unexpected = (item for item in self.skipped if not item.is_expected)
        self.lost = tuple(sorted(unexpected, key=lambda item: item.name))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def schema(self) -> pa.Schema:
        """Columns and their types."""
        return self.table.schema

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Give some of the columns."""
        return self.table.select(list(names))

    def files(self) -> NDArray[np.int32]:
        """Say for each row which file it lies in."""
        if self.few is None:
            return np.arange(len(self), dtype=np.int32)
        return file_positions(self.table.select(["file"]), self.few, self.path)

    def names(self, files: NDArray[np.int32]) -> list[str]:
        """Name files, relative to the place."""
        if self.few is None:
            return [unescape(name) for name in self.table.column("file").take(pa.array(files)).to_pylist()]
        return [unescape(self.few[file]) for file in files.tolist()]

    def _sizes(self, files: NDArray[np.int32]) -> list[int]:
        if self.file_bytes is not None:
            return [int(self.file_bytes[file]) for file in files]
        return [int(size) for size in self.table.column("image.length").take(pa.array(files)).to_numpy()]

    def keep_in(self, cache: Cache) -> None:
        """Read through a cache from now on."""
        self._cache = cache
        sizes = self.file_bytes
        if sizes is None:
            sizes = numpy_of(self.table.column("image.length")).astype(np.int64, copy=False)
        self.stored.keep_in(cache, self.digest, sizes)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._stored_at is not None and os.path.exists(self._stored_at):
            return _reopened, (self.stored.store, self._stored_at, self.digest, self._cache)
        return _again, (self.stored.store, self.table, self._cache)


def file_table(
    files: Sequence[str],
    keys: Sequence[str],
    columns: dict[str, Any],
    *,
    digest: str,
    classes: tuple[str, ...] | None,
    skipped: Sequence[Skipped] = (),
) -> pa.Table:
    """Make the table of an index: one row per file, its further columns, and what is said of all rows together."""
    whole = {
        "key": pa.array(keys, pa.string()),
        "file": pa.array([shown(name) for name in files], pa.string()),
        "image.offset": pa.array(np.zeros(len(files), np.int64)),
        **columns,
    }
    return pa.table(whole).replace_schema_metadata(said_of_all(digest=digest, classes=classes, skipped=skipped))


def unread(field: str, count: int) -> dict[str, Any]:
    """Give columns that say that nothing is known of a field's pictures but their bytes."""
    formats = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([UNREAD]))
    side = pa.array(np.ones(count, np.int32))
    return {f"{field}.format": formats, f"{field}.width": side, f"{field}.height": side}


def said_of_all(
    *,
    digest: str,
    classes: tuple[str, ...] | None,
    skipped: Sequence[Skipped],
    files: Sequence[tuple[str, int]] | None = None,
) -> dict[bytes, str]:
    """Give what an index says beside its columns."""
    rest = {"digest": digest, "classes": classes, "skipped": [item.as_dict() for item in skipped], "files": files}
    return {_MEMBER: json.dumps(rest)}


def kept_index(store: Store, stored_at: str, digest: str | None = None) -> FileIndex | None:
    """Give the index that is kept in the user's cache, if there is one, and it has this digest."""
    if not os.path.exists(stored_at):
        return None
    try:
        index = FileIndex(store, pq.read_table(stored_at), stored_at)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        logging.getLogger("penstock").warning("the cached index %s cannot be read: it is made anew", stored_at)
        return None
    return index if digest in {None, index.digest} else None


def decode_index(data: bytes | memoryview | pa.Buffer, path: str) -> pa.Table:
    """Read an index that `encode_index` gave; `path` is named in errors."""
    try:
        table = pq.read_table(pa.BufferReader(data))
        json.loads(table.schema.metadata[_MEMBER])
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        hint = "make it anew: `penstock index`, or remove it"
        raise FormatError(f"the index cannot be read: {error}", file=shown(path), hint=hint) from error
    return table


def _reopened(store: Store, stored_at: str, digest: str, cache: Cache | None) -> FileIndex:
    index = FileIndex(store, pq.read_table(stored_at), stored_at)
    if index.digest != digest:
        raise FormatError("the index was replaced meanwhile: its files changed", file=shown(store.place))
    if cache is not None:
        index.keep_in(cache)
    return index


def _again(store: Store, table: pa.Table, cache: Cache | None) -> FileIndex:
    index = FileIndex(store, table, None)
    if cache is not None:
        index.keep_in(cache)
    return index
