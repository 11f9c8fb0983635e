"""A dataset: storage and shard on the way out. Where every sample's bytes are, and reading them.

`open_dataset` (as `penstock.open`) takes a packed dataset or an untouched folder of images; what it gives is the
same. A Dataset stands on an index (`PackedIndex`, or ingest's `FileIndex`), loads columns when they are
first asked for, and holds no file open between reads. Samples are numbered from 0; `select` gives a view of some of
them, numbered anew.

Columns are whole NumPy or Arrow arrays: nothing here costs Python per sample but `dataset[i]`, which is for looking
at samples. Training reads many at once with `read`, which merges neighbours into few system calls.
"""

from __future__ import annotations

import hashlib
import os
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.decode.array import decode_array
from penstock.decode.image import decode_image, decode_mask, probe_image
from penstock.errors import (
    ChecksumError,
    FormatError,
    ImageError,
    PenstockError,
    SourceError,
    UsageError,
)
from penstock.filling import Filling, Reading
from penstock.ingest.source import Skipped, shown
from penstock.packed import PackedIndex
from penstock.pipeline.options import whole_number
from penstock.shard.checks import crc32c
from penstock.shard.index import column_names, numpy_of, to_column
from penstock.storage.ranges import plan_reads
from penstock.types import UNREAD, Column, StoredField

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from penstock.storage.files import Files
    from penstock.storage.store import Failure

__all__ = ["Block", "Dataset", "Sample"]

_RANGE = ("file", "offset", "length")  # what a column says about where a sample's bytes are


class Index(Protocol):
    """What a dataset stands on: rows that say where bytes are."""

    path: str
    digest: str
    classes: tuple[str, ...] | None
    skipped: tuple[Skipped, ...]
    fields: tuple[str, ...]
    label_names: tuple[str, ...]
    parts: tuple[int, ...]  # the samples of each dataset that it is joined of

    def __len__(self) -> int: ...
    @property
    def stored(self) -> Files:
        """The files, by their numbers."""

    @property
    def file_count(self) -> int:
        """How many files there are."""

    @property
    def file_bytes(self) -> NDArray[np.int64] | None:
        """How large each is; None where they are many and small."""

    @property
    def schema(self) -> pa.Schema:
        """Columns and their types."""

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Give some of the columns."""

    def files(self) -> NDArray[np.int32]:
        """Say for each row which file it lies in."""

    def names(self, files: NDArray[np.int32]) -> list[str]:
        """Name files, relative to the path."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: stored bytes by field, labels by name."""

    id: int
    key: str
    fields: dict[str, StoredField]
    labels: dict[str, Any]

    def image(self) -> NDArray[np.uint8]:
        """Decode the image to [height, width, 3] uint8 RGB."""
        return self._decoded("image", decode_image)

    def mask(self) -> NDArray[np.uint8]:
        """Decode the mask to [height, width, 1] uint8: the values as stored."""
        return self._decoded("mask", decode_mask)

    def _decoded(self, field: str, decode: Callable[[bytes], NDArray[np.uint8]]) -> NDArray[np.uint8]:
        if field not in self.fields:
            raise UsageError("no such field", got=repr(field), expected=f"one of {tuple(self.fields)}", sample=self.key)
        stored = self.fields[field]
        try:
            return decode_array(stored.data) if stored.format == "npy" else decode(stored.data)
        except ImageError as error:
            error.sample = self.key
            raise


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes of several samples in one array.

    Sample i of those asked for is data[offsets[i] : offsets[i] + lengths[i]].
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]


@final
class Dataset:
    """Samples by number: `len`, `dataset[i]`, columns, labels, views, reads. Picklable; holds no file open."""

    def __init__(self, index: Index, rows: NDArray[np.int64] | None = None) -> None:
        self._index = index
        self._rows = rows  # None: all of the index's, in its order
        self._table: pa.Table | None = None
        self._columns: dict[str, Column] = {}
        self._labels: dict[str, pa.ChunkedArray] = {}
        self.path = index.path
        self.classes = index.classes
        self.skipped = index.skipped
        self.fields = index.fields
        self.label_names = index.label_names

    def __len__(self) -> int:
        return len(self._index) if self._rows is None else len(self._rows)

    def __repr__(self) -> str:
        of = "" if self._rows is None else f" of {len(self._index)}"
        return (
            f"Dataset({shown(self.path)!r}, {len(self)}{of} samples, fields {self.fields}, labels {self.label_names})"
        )

    @property
    def schema(self) -> pa.Schema:
        """The index's columns and their types."""
        return self._index.schema

    @property
    def lost(self) -> tuple[Skipped, ...]:
        """The files of an untouched folder that should be samples and are none, by name.

        A packed dataset has lost nothing: whoever packed it was asked.
        """
        unexpected = (item for item in self.skipped if not item.is_expected)
        return tuple(sorted(unexpected, key=lambda item: item.name)) if self.file_bytes is None else ()

    @property
    def packed(self) -> PackedIndex | None:
        """The packed index below this dataset; None over untouched files."""
        return self._index if isinstance(self._index, PackedIndex) else None

    # A dataset is what an index is, so that datasets can be joined.

    @property
    def parts(self) -> tuple[int, ...]:
        """The samples of each dataset that it is joined of."""
        return self._index.parts if self._rows is None else (len(self),)

    @property
    def file_count(self) -> int:
        """How many files there are."""
        return self._index.file_count

    @property
    def file_bytes(self) -> NDArray[np.int64] | None:
        """How large each is; None where they are many and small."""
        return self._index.file_bytes

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Give some of the index's columns, one row per sample."""
        return self._chosen(self._index.columns(names))

    def files(self) -> NDArray[np.int32]:
        """Say for each sample which file it lies in."""
        return self._index.files() if self._rows is None else self._index.files()[self._rows]

    def names(self, files: NDArray[np.int32]) -> list[str]:
        """Name files."""
        return self._index.names(files)

    @property
    def stored(self) -> Files:
        """The files, by their numbers."""
        return self._index.stored

    @property
    def digest(self) -> str:
        """Identifies the content: the same samples in the same order, the same digest."""
        if self._rows is None:
            return self._index.digest
        return hashlib.sha256(self._index.digest.encode() + self._rows.tobytes()).hexdigest()

    @property
    def index(self) -> pa.Table:
        """The whole index as an Arrow table, one row per sample."""
        if self._table is None:
            self._table = self.columns(self._index.schema.names)
        return self._table

    def column(self, field: str) -> Column:
        """Where every sample's bytes of one field are; loaded when first asked for."""
        if field not in self._columns:
            if field not in self.fields:
                raise UsageError(
                    "no such field", got=repr(field), expected=f"one of {self.fields}", file=shown(self.path)
                )
            table = self._index.columns(column_names(field, self._index.schema))
            whole = to_column(table, field, self._index.files(), self.path)
            if self._index.file_bytes is not None:
                self._check_inside_shards(whole, self._index.file_bytes)
            self._columns[field] = whole if self._rows is None else _rows_of(whole, self._rows)
        return self._columns[field]

    def _check_inside_shards(self, column: Column, sizes: NDArray[np.int64]) -> None:
        """Refuse ranges that no shard can have: reading them would ask for any amount of memory."""
        outside = np.flatnonzero(column.offset > sizes[column.file] - column.length)
        if len(outside):
            where = int(column.offset[outside[0]]), int(column.offset[outside[0]] + column.length[outside[0]])
            hint = "run `penstock verify` on the dataset"
            what = f"the index points outside the shards for {len(outside)} samples"
            raise FormatError(what, file=shown(self.path), sample=int(outside[0]), byte_range=where, hint=hint)

    def labels(self, name: str) -> NDArray[Any] | pa.ChunkedArray:
        """One label of every sample: numbers as a NumPy array, anything else as an Arrow array."""
        if name not in self.label_names:
            raise UsageError(
                "no such label", got=repr(name), expected=f"one of {self.label_names}", file=shown(self.path)
            )
        column = self._values(name)
        kind = column.type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        return numpy_of(column) if is_number else column

    def select(self, which: NDArray[Any] | Sequence[int] | pc.Expression) -> Dataset:
        """Give a view of some samples: a mask, numbers, or a filter such as `pyarrow.compute.field("label") == 3`."""
        if isinstance(which, pc.Expression):
            unused = "#" * (1 + max(map(len, self.index.schema.names)))  # longer than any column's name
            try:
                found = self.index.append_column(unused, pa.array(np.arange(len(self)))).filter(which)
            except pa.ArrowException as error:
                got, expected = f"{which}: {error}".partition("\n")[0], f"a condition on some of {self.schema.names}"
                raise UsageError("the filter cannot be applied", got=got, expected=expected) from error
            chosen = numpy_of(found.column(unused))
        else:
            chosen = np.asarray(which)
            if chosen.dtype == np.bool_:
                if chosen.shape != (len(self),):
                    raise UsageError("a mask has one value per sample", got=chosen.shape, expected=f"({len(self)},)")
                chosen = np.flatnonzero(chosen)
        chosen = self._checked(chosen)
        return Dataset(self._index, chosen if self._rows is None else self._rows[chosen])

    def read(self, ids: NDArray[np.int64] | Sequence[int], field: str, block: NDArray[np.uint8] | None = None) -> Block:
        """Read one field of many samples. `block` is reused where it is large enough.

        The bytes come as they are stored: their checksums, in `column(field).crc32c`, are for whoever decodes them to
        compare, as the loader does where the bytes are in its cache anyway, and as `dataset[i]` does.
        A sample that cannot be read raises.
        """
        reading = self.plan_reading(self._checked(np.asarray(ids)), (field,))
        if block is None or len(block) < reading.reads.block_bytes:
            block = np.empty(reading.reads.block_bytes, np.uint8)
        errors = self.begin(reading, block).errors()
        if errors:
            raise errors[min(errors)]
        return Block(block, reading.starts[0], reading.lengths[0])

    def plan_reading(self, ids: NDArray[np.int64], fields: Sequence[str], *, alignment: int = 1) -> Reading:
        """Plan to read some fields of some samples into one block, see `plan_reads`."""
        columns = [self.column(field) for field in fields]
        file, offset, length = (np.concatenate([getattr(one, name)[ids] for one in columns]) for name in _RANGE)
        reads = plan_reads(file, offset, length, alignment=alignment)
        starts, lengths = (array.reshape(len(fields), len(ids)) for array in (reads.start, length))
        return Reading(ids, tuple(fields), reads, starts, lengths)

    def begin(self, reading: Reading, block: NDArray[np.uint8], *, ways: NDArray[np.uint8] | None = None) -> Filling:
        """Begin to carry a plan out, each read in its way, see `fill_block`."""
        return Filling(self, reading, block, ways=ways)

    def read_error(self, number: int, field: str, failure: Failure) -> PenstockError:
        """Say what is wrong with a sample that did not arrive."""
        column, error = self.column(field), failure.error
        file = int(column.file[number])
        if error is None and isinstance(self._index, PackedIndex):
            error = FormatError("the shard ends before the sample's bytes", hint="run `penstock verify` on the dataset")
        elif error is None:
            error = SourceError("the file is shorter than when it was indexed", hint="open the folder again")
        else:
            error = copy(error)  # one read may bring many samples
        error.file = error.file or shown(os.path.join(self.path, self._index.names(np.array([file], np.int32))[0]))
        error.sample = self.key(number)
        error.byte_range = (int(column.offset[number]), int(column.offset[number] + column.length[number]))
        return error

    def key(self, number: int) -> str:
        """Name a sample."""
        return str(self._values("key")[number])

    def __getitem__(self, number: int) -> Sample:
        number, count = whole_number(number, what="a sample's number; for several, there is select()"), len(self)
        if not -count <= number < count:
            raise IndexError(f"sample {number} of {count}")
        number %= count
        fields = {name: self._stored(number, name) for name in self.fields}
        labels = {name: self._values(name)[number].as_py() for name in self.label_names}
        return Sample(number, self.key(number), fields, labels)

    def _stored(self, number: int, name: str) -> StoredField:
        block = self.read([number], name)
        return self.checked(number, name, block.data[: int(block.lengths[0])].tobytes())

    def checked(self, number: int, name: str, data: bytes) -> StoredField:
        """Give what was read of a sample's field, once its checksum is seen to be right."""
        column = self.column(name)
        if column.crc32c is not None and crc32c(data) != column.crc32c[number]:
            where = (int(column.offset[number]), int(column.offset[number]) + len(data))
            (file,) = self._index.names(column.file[[number]])
            got, expected = f"{crc32c(data):08x}", f"{column.crc32c[number]:08x}"
            hint = "restore the file; if it is meant to be another, pack or list it again (of packed data `verify` tells more)"
            raise ChecksumError(
                "checksum differs",
                file=file,
                sample=self.key(number),
                byte_range=where,
                got=got,
                expected=expected,
                hint=hint,
            )
        format_ = column.formats[column.format[number]]
        if format_ == UNREAD:
            try:
                return StoredField(data, *probe_image(data))
            except ImageError:
                return StoredField(data, "unknown", 1, 1)
        return StoredField(data, format_, int(column.width[number]), int(column.height[number]))

    def _values(self, name: str) -> pa.ChunkedArray:
        if name not in self._labels:
            self._labels[name] = self.columns([name]).column(name)
        return self._labels[name]

    def _chosen(self, table: pa.Table) -> pa.Table:
        return table if self._rows is None else table.take(pa.array(self._rows))

    def _checked(self, ids: NDArray[Any]) -> NDArray[np.int64]:
        """See that sample numbers are numbers of samples: NumPy would take a negative one for one from the end."""
        if ids.size == 0:
            return np.empty(0, np.int64)
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise UsageError("sample numbers form one row of integers", got=f"{ids.dtype} {ids.shape}")
        if ids.min() < 0 or ids.max() >= len(self):
            raise UsageError("no such sample", got=f"{ids.min()} to {ids.max()}", expected=f"0 to {len(self) - 1}")
        return ids.astype(np.int64, copy=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, (self._index, self._rows)


def _rows_of(column: Column, rows: NDArray[np.int64]) -> Column:
    return Column(
        file=column.file[rows],
        offset=column.offset[rows],
        length=column.length[rows],
        crc32c=None if column.crc32c is None else column.crc32c[rows],
        format=column.format[rows],
        width=column.width[rows],
        height=column.height[rows],
        formats=column.formats,
    )
