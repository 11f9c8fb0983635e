"""Files that others packed, opened in place: an index over parts of them.

Finding the parts means going through the files once (the headers of a tar, the pages of an LMDB). What that comes to is
kept in the user's cache, under the files' sizes and times (in a store: their tags): opened again, it is there at once.
`penstock index` writes the same beside the files, for other machines and other users. Files are copied, and then have
other times. So such a side-car holds as long as it names the same files, with the same sizes and the same beginnings: a
tar's first header, an LMDB's last transaction.
"""

from __future__ import annotations

import errno
import hashlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.errors import SourceError, StorageError, UsageError
from penstock.ingest.file_index import FileIndex, decode_index, kept_index, said_of_all, unread
from penstock.ingest.items import Ranges
from penstock.ingest.source import shown
from penstock.shard.frames import FRAME_TYPES
from penstock.shard.index import encode_index
from penstock.storage.local import read_file, storage_error
from penstock.storage.location import is_url
from penstock.storage.ranges import plan_reads
from penstock.storage.user_cache import keep, user_cache
from penstock.storage.where import read_anywhere, write_anywhere

if TYPE_CHECKING:
    from penstock.ingest.kind import Kind, Options, Seen
    from penstock.ingest.source import Source

__all__ = ["SIDECAR", "index_files", "write_sidecar"]

SIDECAR = ".index.parquet"  # added to the source's path
_BEGINNINGS = b"penstock.beginnings"  # of a side-car's metadata
_BEGINNING_BYTES = 8192  # both meta pages of an LMDB


def index_files(kind: Kind, path: str, options: Options) -> FileIndex:
    """Give the index of a source of a kind that can be opened in place: a kept one that still holds, or a new one."""
    assert kind.seen is not None
    options.check(kind, path)
    seen = kind.seen(path, options)
    stored_at = os.path.join(user_cache("in_place"), f"{_name(kind, seen, options)}.parquet")
    kept = kept_index(seen.store, stored_at) or _beside(path, seen, options)
    if kept is not None:
        return kept
    table = _table(kind.listed(path, options), path)
    is_kept = keep(stored_at, encode_index(table), what=f"the index of {shown(path)}")
    return FileIndex(seen.store, table, stored_at if is_kept else None)


def write_sidecar(kind: Kind, path: str, options: Options, out: str | None = None) -> tuple[str, FileIndex]:
    """Go through a source and write its index beside it, or to `out`; where, and the index."""
    assert kind.seen is not None
    options.check(kind, path)
    seen, table = kind.seen(path, options), _table(kind.listed(path, options), path)
    where = out if out is not None else path.rstrip("/") + SIDECAR
    said = {**table.schema.metadata, _BEGINNINGS: _beginnings(seen)}
    write_anywhere(where, encode_index(table.replace_schema_metadata(said)), options.access)
    return where, FileIndex(seen.store, table, None)


def _name(kind: Kind, seen: Seen, options: Options) -> str:
    """Name what is known before the files are read: another name, once any of it is another."""
    place = seen.store.place if is_url(seen.store.place) else os.path.realpath(seen.store.place)
    shaping = (_content(options.labels), options.label_name, options.subset)
    parts = repr((kind.name, place, seen.names, seen.sizes.tolist(), seen.stamp, shaping))
    return hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _content(labels: str | None) -> str | None:
    """Identify what a file of class names says, wherever it lies."""
    if labels is None:
        return None
    try:
        return hashlib.sha256(read_file(labels)).hexdigest()
    except OSError as error:
        raise storage_error(error, labels) from error


def _beside(path: str, seen: Seen, options: Options) -> FileIndex | None:
    """Give the index of a side-car, where there is one that still holds. It knows nothing of what a caller says."""
    where = path.rstrip("/") + SIDECAR
    if any(part is not None for part in (options.labels, options.label_name, options.subset)):
        return None
    if not is_url(path) and not os.path.exists(where):
        return None
    try:
        data = read_anywhere(where, options.access)
    except StorageError as error:
        if error.errno == errno.ENOENT:
            return None
        raise
    table = decode_index(data, where)
    index = FileIndex(seen.store, table, None)
    named, sizes = [shown(name) for name in seen.names], index.file_bytes
    is_same = index.few == named and sizes is not None and np.array_equal(sizes, seen.sizes)
    if not is_same or table.schema.metadata.get(_BEGINNINGS) != _beginnings(seen).encode():
        hint = "make it anew: `penstock index`, or remove it"
        raise SourceError("the side-car index is of other files, or these have changed", file=shown(where), hint=hint)
    return index


def _beginnings(seen: Seen) -> str:
    """Identify the first bytes of the files."""
    count = len(seen.names)
    lengths = np.minimum(seen.sizes, _BEGINNING_BYTES)
    plan = plan_reads(np.arange(count, dtype=np.int32), np.zeros(count, np.int64), lengths)
    block = np.empty(plan.block_bytes, np.uint8)
    for failure in seen.store.begin(list(seen.names), plan, block).failures():
        name = shown(seen.paths[int(plan.file[failure.read])])
        raise failure.error or SourceError("the file became shorter while it was read", file=name)
    return hashlib.sha256(lengths.tobytes() + block.tobytes()).hexdigest()


def _table(source: Source, path: str) -> pa.Table:
    """Make the table of an index over parts of files. Headers of images are not asked for: they are read with them.

    All fields of a sample lie in one file.
    """
    parts = {field: items for field, items in source.fields.items() if isinstance(items, Ranges)}
    if len(parts) < len(source.fields):
        what, hint = "the images' bytes are not in the file as they are", "pack it: `penstock pack`"
        raise UsageError(f"{what}, so they cannot be opened in place", file=shown(path), hint=hint)
    ranges = next(iter(parts.values()))
    names = pa.array([shown(name) for name in ranges.files], pa.string())
    columns: dict[str, Any] = {
        "key": pa.array(source.keys, pa.string()),
        "file": pa.DictionaryArray.from_arrays(pa.array(ranges.file), names),
    }
    for field, one in parts.items():
        columns |= _columns(field, one)
    columns |= {name: source.labels.column(name) for name in source.labels.column_names}
    table = pa.table(columns)
    files = list(zip(names.to_pylist(), ranges.file_bytes.tolist(), strict=True))
    said = said_of_all(digest=_digest(table, files), classes=source.classes, skipped=source.skipped, files=files)
    return table.replace_schema_metadata(said)


def _columns(field: str, ranges: Ranges) -> dict[str, Any]:
    """Give the columns of one field."""
    columns: dict[str, Any] = {
        f"{field}.offset": pa.array(ranges.offset),
        f"{field}.length": pa.array(ranges.sizes),
        **unread(field, len(ranges)),
        f"{field}.suffix": pa.array(ranges.suffixes, pa.string()).dictionary_encode(),
    }
    if ranges.frames is not None:
        first = pa.array(ranges.frames.first.astype(np.int32))
        for part in ("length", "offset"):
            values = pa.array(getattr(ranges.frames, part), FRAME_TYPES[f"frame_{part}"].value_type)
            columns[f"{field}.frame_{part}"] = pa.ListArray.from_arrays(first, values)
    return columns


def _digest(table: pa.Table, files: list[tuple[str, int]]) -> str:
    """Identify the samples: wherever the files lie, and whenever they were copied there."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(repr(files).encode() + sink.getvalue()).hexdigest()
