"""Images inside Arrow and Parquet files, as items: each a row's bytes, in a binary column or in a struct {bytes, path}.

    Arrow      a stream, as Hugging Face datasets write it: mapped into memory, so a row is read where it lies
    Parquet    compressed by row groups: a row comes with its whole group, so some groups are held, least lately used
               ones dropped, up to a bound

In the order of the rows each group is read once. In a shuffled order, of data larger than the bound, a group is read
for every row: that is what this form of data costs, and `--in-order` (seed=None) avoids.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.errors import SourceError
from penstock.ingest.source import shown
from penstock.shard.keys import escape
from penstock.storage.local import storage_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Group", "TableFile", "TableImages", "look", "schema_of"]

_HELD_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that are read together: a Parquet file's row group, or all of an Arrow file."""

    file: str  # relative to the root
    number: int | None  # of the row group
    rows: int


@final
class _Held:
    """The groups read last, up to so many bytes, and one at least. Those of mapped files take no memory of ours."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: OrderedDict[int, pa.ChunkedArray] = OrderedDict()

    def get(self, group: int, read: Any) -> pa.ChunkedArray:
        """Give a group; one at a time is read."""
        with self._lock:
            if group in self._groups:
                self._groups.move_to_end(group)
            else:
                self._groups[group] = read()
                while len(self._groups) > 1 and sum(held.nbytes for held in self._groups.values()) > _HELD_BYTES:
                    self._groups.popitem(last=False)
            return self._groups[group]

    def __reduce__(self) -> tuple[type[_Held], tuple[()]]:
        return _Held, ()


@final
@dataclass(frozen=True)
class TableImages:
    """One image per row of some files."""

    root: str
    groups: tuple[Group, ...]
    column: str
    stamps: tuple[tuple[str, int, int], ...]  # of each file: name, size, time
    sizes: NDArray[np.int64]  # of Parquet: an equal share of the group's
    suffixes: Sequence[str]
    is_far: bool = False
    _held: _Held = field(default_factory=_Held, repr=False, compare=False)

    def __len__(self) -> int:
        return sum(group.rows for group in self.groups)

    def name(self, position: int) -> str:
        """Say which file a row is in, and which row of it."""
        group, row = self._where(position)
        before = sum(one.rows for one in self.groups[:group] if one.file == self.groups[group].file)
        return escape(f"{self.groups[group].file}: row {before + row}")

    def read(self, position: int) -> list[bytes]:
        """Give a row's image."""
        group, row = self._where(position)
        column = self._held.get(group, lambda: self._read(self.groups[group]))
        value = column[row]
        if pa.types.is_struct(column.type):
            value = value["bytes"] if value.is_valid else value
        if not value.is_valid:
            hint = "write the dataset with its files embedded: save_to_disk and to_parquet do"
            raise SourceError("the row holds no image, at most a path", hint=hint)
        return [value.as_py()]

    def identity(self) -> Iterator[bytes]:
        """Give the files, and which column it is."""
        yield repr((self.column, self.stamps)).encode("utf-8", "surrogateescape")

    def _where(self, position: int) -> tuple[int, int]:
        """Give the group and the row in it."""
        ends = np.cumsum([group.rows for group in self.groups])
        group = int(np.searchsorted(ends, position, side="right"))
        return group, position - int(ends[group] - self.groups[group].rows)

    def _read(self, group: Group) -> pa.ChunkedArray:
        path = os.path.join(self.root, group.file)
        with _errors_of(path):
            if group.number is None:
                return _open(path).column(self.column)
            with pq.ParquetFile(path) as file:
                return file.read_row_group(group.number, [self.column]).column(self.column)


@dataclass(frozen=True, slots=True)
class TableFile:
    """What a file says of its images, and no image."""

    stamp: tuple[str, int, int]  # name, size, time
    groups: list[Group]
    names: list[str | None]  # what the images were called
    sizes: NDArray[np.int64]
    labels: pa.Table


def schema_of(path: str) -> pa.Schema:
    """Read the columns of a file, and what else is said of them."""
    with _errors_of(path):
        return pq.read_schema(path) if path.lower().endswith(".parquet") else _open(path).schema


def look(root: str, file: str, column: str, labels: list[str]) -> TableFile:
    """Read all but the images."""
    path = os.path.join(root, file)
    with _errors_of(path):
        status = os.stat(path)
        stamp = (file, status.st_size, status.st_mtime_ns)
        if not path.lower().endswith(".parquet"):
            table = _open(path)
            images = table.column(column)
            data = pc.struct_field(images, "bytes") if pa.types.is_struct(images.type) else images
            sizes = np.asarray(pc.binary_length(data).fill_null(0)).astype(np.int64)
            return TableFile(stamp, [Group(file, None, len(table))], _names(table, column), sizes, table.select(labels))
        with pq.ParquetFile(path) as opened:
            is_struct = pa.types.is_struct(opened.schema_arrow.field(column).type)
            table = opened.read([*labels, f"{column}.path"] if is_struct else labels)
            parts = [opened.metadata.row_group(number) for number in range(opened.num_row_groups)]
        groups = [Group(file, number, part.num_rows) for number, part in enumerate(parts)]
        shares = np.array([part.total_byte_size // max(1, part.num_rows) for part in parts], np.int64)
        sizes = np.repeat(shares, [group.rows for group in groups])
        names: list[str | None] = _names(table, column) if is_struct else [None] * len(sizes)
        return TableFile(stamp, groups, names, sizes, table.select(labels))


def _names(table: pa.Table, column: str) -> list[str | None]:
    images = table.column(column)
    if not pa.types.is_struct(images.type):
        return [None] * len(images)
    names: list[str | None] = pc.struct_field(images, "path").to_pylist()
    return names


@contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Say which file cannot be read."""
    try:
        yield
    except (pa.ArrowException, KeyError) as error:
        raise SourceError(f"the table cannot be read: {error}", file=shown(path)) from error
    except OSError as error:
        raise storage_error(error, path) from error


def _open(path: str) -> pa.Table:
    """Map an Arrow file: a stream of record batches, or a file with a footer."""
    mapped = pa.memory_map(path)
    try:
        return pa.ipc.open_stream(mapped).read_all()
    except pa.ArrowInvalid:
        return pa.ipc.open_file(mapped).read_all()
