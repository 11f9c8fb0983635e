"""An image folder opened in place: an index over files that stay untouched.

Every file's header is read once for format and size; that index is kept in the user's cache folder, keyed by the
paths of the folder and of its labels, and holds as long as the listing does (names, sizes, times, labels). Nothing is
ever written into the folder itself.

A file whose header makes no sense keeps its place, with the format "unknown" and a size of 1x1: numbers and order of
the samples stay those of the files, and whoever decodes that sample gets its error. The same goes for a file that the
system would not give; but that may pass, so an index with such a file is not kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.decode.image import probe_image, sniff
from penstock.errors import FormatError, ImageError
from penstock.ingest.source import Skipped, Source, shown
from penstock.shard.index import encode_index, fields_of, labels_of
from penstock.shard.keys import unescape
from penstock.storage.files import StoredFiles
from penstock.storage.local import LocalStore, read_file, read_start
from penstock.storage.user_cache import keep, user_cache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["FolderIndex", "index_folder"]

_HEADER_BYTES = 64 * 1024  # enough for nearly every header, previews in EXIF data included
_PROBING_THREADS = 16  # opening files is waiting, on a cold disk most of all
_MEMBER = b"penstock.in_place"
_NAMES = pa.dictionary(pa.int32(), pa.string())
_UNKNOWN = ("unknown", 1, 1)


@final
class FolderIndex:
    """An index over untouched files: row i is file i."""

    def __init__(self, path: str, table: pa.Table, stored_at: str | None) -> None:
        self.path, self.stored = path, StoredFiles(LocalStore(path), self.names)
        self.table = table
        self._stored_at = stored_at  # where another process can read it
        self.parts: tuple[int, ...] = (len(self),)
        self.file_count, self.file_bytes = len(self), None
        rest = json.loads(table.schema.metadata[_MEMBER])
        self.digest: str = rest["digest"]
        self.classes: tuple[str, ...] | None = None if rest["classes"] is None else tuple(rest["classes"])
        self.fields, self.label_names = fields_of(table.schema), labels_of(table.schema)
        self.skipped = tuple(Skipped.from_dict(item) for item in rest["skipped"])

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
        return np.arange(len(self), dtype=np.int32)

    def names(self, files: NDArray[np.int32]) -> list[str]:
        """Name files, relative to the folder."""
        return [unescape(name) for name in self.table.column("file").take(pa.array(files)).to_pylist()]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._stored_at is not None and os.path.exists(self._stored_at):
            return _reopened, (self.path, self._stored_at, self.digest)
        return FolderIndex, (self.path, self.table, None)


def _reopened(path: str, stored_at: str, digest: str) -> FolderIndex:
    index = FolderIndex(path, pq.read_table(stored_at), stored_at)
    if index.digest != digest:
        raise FormatError("the folder's index was replaced meanwhile: its files changed", file=shown(path))
    return index


def index_folder(source: Source, labels: str | None = None) -> FolderIndex:
    """Give the index of a listed folder: the cached one where it still holds, else a new one.

    `labels` is the file that the labels came from: a folder has one index for each.
    """
    root = source.fields["image"].root
    digest = source.digest()
    stored_at = os.path.join(user_cache("in_place"), f"{_cache_name(source.kind, root, labels)}.parquet")
    if os.path.exists(stored_at):
        try:
            index = FolderIndex(root, pq.read_table(stored_at), stored_at)
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
            logging.getLogger("penstock").warning("the cached index %s cannot be read: it is made anew", stored_at)
        else:
            if index.digest == digest:
                return index if index.skipped == source.skipped else _with_skipped(index, source, stored_at)
    table, unread = _table(source, digest)
    if unread:
        what = "the index of %s is not cached, because %d files could not be read; the first: %s"
        logging.getLogger("penstock").warning(what, shown(root), len(unread), unread[0])
        return FolderIndex(root, table, None)
    return _kept(root, table, stored_at)


def _kept(root: str, table: pa.Table, stored_at: str) -> FolderIndex:
    is_kept = keep(stored_at, encode_index(table), what=f"the index of {shown(root)}")
    return FolderIndex(root, table, stored_at if is_kept else None)


def _with_skipped(index: FolderIndex, source: Source, stored_at: str) -> FolderIndex:
    """Give an index of the same samples beside which other files are none by now. No header is read again."""
    return _kept(index.path, index.table.replace_schema_metadata(_rest(source, index.digest)), stored_at)


def _cache_name(kind: str, root: str, labels: str | None) -> str:
    parts = [kind.encode(), *(os.fsencode(os.path.realpath(path)) for path in (root, labels) if path is not None)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _table(source: Source, digest: str) -> tuple[pa.Table, list[OSError]]:
    """Read every header; (index, what the system said about the files that it would not give)."""
    files = source.fields["image"]
    with ThreadPoolExecutor(_PROBING_THREADS, "penstock-probe") as pool:
        paths = (files.path(position) for position in range(len(source)))
        found = list(pool.map(_probe, paths, chunksize=64))
    unread = [answer for answer in found if isinstance(answer, OSError)]
    formats, widths, heights = zip(
        *(_UNKNOWN if isinstance(answer, OSError) else answer for answer in found), strict=True
    )
    table = pa.table(
        {
            "key": pa.array(source.keys, pa.string()),
            "file": pa.array([shown(name) for name in files.names], pa.string()),
            "image.offset": pa.array(np.zeros(len(source), np.int64)),
            "image.length": pa.array(files.sizes),
            "image.format": pa.array(formats, pa.string()).dictionary_encode().cast(_NAMES),
            "image.width": pa.array(widths, pa.int32()),
            "image.height": pa.array(heights, pa.int32()),
            **{name: source.labels.column(name) for name in source.labels.column_names},
        }
    ).replace_schema_metadata(_rest(source, digest))
    return table, unread


def _rest(source: Source, digest: str) -> dict[bytes, str]:
    """Give what an index says beside its columns."""
    rest = {"digest": digest, "classes": source.classes, "skipped": [item.as_dict() for item in source.skipped]}
    return {_MEMBER: json.dumps(rest)}


def _probe(path: str) -> tuple[str, int, int] | OSError:
    try:
        start = read_start(path, _HEADER_BYTES)
        try:
            return probe_image(start)
        except ImageError:  # what matters may come later: large metadata, a TIFF's directory
            if len(start) < _HEADER_BYTES or sniff(start) is None:
                return _UNKNOWN
            return probe_image(read_file(path))
    except ImageError:
        return _UNKNOWN
    except OSError as error:
        return error
