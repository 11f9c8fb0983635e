"""The index of a packed dataset: manifest and Parquet file, wherever they are.

On a local disk the Parquet file is mapped into memory. From anywhere else it is fetched once and kept in the user's
cache under its own digest, which the manifest states: a copy there is the right one or none.
"""

from __future__ import annotations

import hashlib
import os
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import FormatError
from penstock.ingest.source import Skipped
from penstock.shard.checks import sha256
from penstock.shard.index import file_positions, needed_columns
from penstock.shard.manifest import MANIFEST_NAME, Manifest, decode_manifest
from penstock.storage.files import StoredFiles
from penstock.storage.local import LocalStore, storage_error
from penstock.storage.user_cache import keep, user_cache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.storage.cache import Cache
    from penstock.storage.store import Store

__all__ = ["PackedIndex"]


@final
class PackedIndex:
    """The index of the packed dataset in a store."""

    def __init__(self, store: Store, digest: str | None = None, *, cache: Cache | None = None) -> None:
        self.path, self.store, self._cache = store.place, store, cache
        file = os.path.join(self.path, MANIFEST_NAME)
        encoded = store.read(MANIFEST_NAME)
        self.manifest: Manifest = decode_manifest(encoded, file)
        self.digest = hashlib.sha256(encoded).hexdigest()
        if digest not in {None, self.digest}:
            raise FormatError("the dataset was replaced by another while it was in use", file=file)
        self.classes = self.manifest.classes
        listed = self.manifest.provenance.get("skipped", [])
        self.skipped = tuple(Skipped.from_dict(item) for item in listed if isinstance(item, dict))
        self.lost: tuple[Skipped, ...] = ()
        self._file = os.path.join(self.path, self.manifest.index.file)
        self._source = self._found()
        self.file_count = len(self.manifest.shards)
        self.parts: tuple[int, ...] = (self.manifest.samples,)
        self.file_bytes = np.array([shard.bytes for shard in self.manifest.shards], np.int64)
        self.stored = StoredFiles(store, self.names)
        if cache is not None:
            self.stored.keep_in(cache, self.digest, self.file_bytes)
        with self._open() as parquet:
            self.schema: pa.Schema = parquet.schema_arrow
            rows = parquet.metadata.num_rows
        if rows != self.manifest.samples:
            what = "index and manifest disagree about the number of samples"
            raise FormatError(what, file=self._file, got=rows, expected=self.manifest.samples)
        # What the manifest names, and no other column: a later writer may have added any.
        self.fields, self.label_names = tuple(self.manifest.fields), tuple(self.manifest.labels)
        needed = needed_columns(self.fields, self.label_names)
        lacking = [name for name in needed if name not in self.schema.names]
        if lacking:
            raise FormatError("the index lacks a column", file=self._file, expected=lacking[0])

    def __len__(self) -> int:
        return self.manifest.samples

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Read some of the columns; the Parquet file is open only meanwhile."""
        with self._open() as parquet:
            return parquet.read(columns=list(names), use_threads=True)

    def files(self) -> NDArray[np.int32]:
        """Say for each row which shard it lies in."""
        return file_positions(self.columns(["file"]), [shard.file for shard in self.manifest.shards], self._file)

    def names(self, files: NDArray[np.int32]) -> list[str]:
        """Name shards."""
        return [self.manifest.shards[file].file for file in files.tolist()]

    def _found(self) -> str | pa.Buffer:
        """Find the Parquet file: its path, or where it cannot be kept on this machine, its bytes."""
        entry = self.manifest.index
        if isinstance(self.store, LocalStore) and self._cache is None:
            return self._file
        kept = os.path.join(user_cache("indexes"), f"{entry.sha256}.parquet")
        if os.path.exists(kept) and os.path.getsize(kept) == entry.bytes:
            return kept
        data = self.store.read(entry.file)
        if sha256(data) != entry.sha256:
            hint = "pack the dataset again, or restore the file"
            what = "the index is not the one that the manifest describes"
            raise FormatError(what, file=self._file, got=f"{len(data)} bytes", expected=f"{entry.bytes}", hint=hint)
        return kept if keep(kept, data, what=f"the index of {self.path}") else pa.py_buffer(data)

    def _open(self) -> pq.ParquetFile:
        if isinstance(self._source, str) and not os.path.exists(self._source):
            self._source = self._found()  # the user's cache may be emptied at any time
        try:
            return pq.ParquetFile(self._source, memory_map=isinstance(self._source, str))
        except OSError as error:
            raise storage_error(error, self._file) from error
        except pa.ArrowException as error:
            raise FormatError(f"the index cannot be read: {error}", file=self._file) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(PackedIndex, cache=self._cache), (self.store, self.digest)
