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

from penstock.decode.image import probe_image
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
from penstock.pieces import byte_range, checksums, chosen_frames, frame_number, ranges, rows_of, spans
from penstock.pipeline.options import whole_number
from penstock.sample import Sample
from penstock.shard.checks import crc32c
from penstock.shard.index import column_names, numpy_of, to_column
from penstock.storage.ranges import FRAME_GAP_BYTES, GAP_BYTES, plan_reads
from penstock.types import UNREAD, Column, StoredField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.pieces import Chosen
    from penstock.storage.files import Files
    from penstock.storage.store import Failure

__all__ = ["Block", "Dataset", "Sample"]


class Index(Protocol):
    """What a dataset stands on: rows that say where bytes are."""

    path: str
    digest: str
    classes: tuple[str, ...] | None
    skipped: tuple[Skipped, ...]
    lost: tuple[Skipped, ...]
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
        """What should be samples and are none, by name, of untouched files.

        A packed dataset has lost nothing: whoever packed it was asked.
        """
        return self._index.lost

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
            self._columns[field] = whole if self._rows is None else rows_of(whole, self._rows)
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
        return Block(self._filled(reading, block), reading.starts[0], reading.lengths[0])

    def _filled(self, reading: Reading, block: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """Carry a plan out, in the block where that is large enough."""
        if block is None or len(block) < reading.reads.block_bytes:
            block = np.empty(reading.reads.block_bytes, np.uint8)
        errors = self.begin(reading, block).errors()
        if errors:
            raise errors[min(errors)]
        return block

    def plan_reading(
        self, ids: NDArray[np.int64], fields: Sequence[str], chosen: Chosen | None = None, *, alignment: int = 1
    ) -> Reading:
        """Plan to read some fields of some samples, of their clips the chosen frames, into one block.

        See `plan_reads`, and pieces.py.
        """
        chosen = {} if chosen is None else chosen
        pieces = [ranges(self.column(field), ids, chosen.get(field)) for field in fields]
        file, offset, length = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        flat, gap = (one.reshape(-1) for one in (file, offset, length)), FRAME_GAP_BYTES if chosen else GAP_BYTES
        reads = plan_reads(*flat, gap_bytes=gap, alignment=alignment)
        return Reading(ids, tuple(fields), chosen, reads, reads.start.reshape(length.shape), length)

    def begin(self, reading: Reading, block: NDArray[np.uint8], *, ways: NDArray[np.uint8] | None = None) -> Filling:
        """Begin to carry a plan out, each read in its way, see `fill_block`."""
        return Filling(self, reading, block, ways=ways)

    def read_error(self, number: int, field: str, failure: Failure, frame: int | None = None) -> PenstockError:
        """Say what is wrong with a sample that did not arrive, or with a frame, known by its position."""
        column, error = self.column(field), failure.error
        file = int(column.file[number])
        if error is None and isinstance(self._index, PackedIndex):
            error = FormatError("the shard ends before the sample's bytes", hint="run `penstock verify` on the dataset")
        elif error is None:
            error = SourceError("the file is shorter than when it was indexed", hint="open the folder again")
        else:
            error = copy(error)  # one read may bring many samples
        error.file = error.file or shown(os.path.join(self.path, self._index.names(np.array([file], np.int32))[0]))
        error.sample, error.frame = self.key(number), frame_number(column, number, frame)
        error.byte_range = byte_range(column, number, frame)
        return error

    def key(self, number: int) -> str:
        """Name a sample."""
        return str(self._values("key")[number])

    def __getitem__(self, which: int | tuple[int, slice | Sequence[int]]) -> Sample:
        """Read a sample: `dataset[7]`; or of its clips only some frames: `dataset[7, 3:20:2]`, `dataset[7, [0, 4, 8]]`.

        A slice ends where a clip does, as those of lists; each frame of a list must be there.
        """
        number, frames = which if isinstance(which, tuple) and len(which) == 2 else (which, None)
        number, count = whole_number(number, what="a sample's number; for several, there is select()"), len(self)
        if not -count <= number < count:
            raise IndexError(f"sample {number} of {count}")
        number %= count
        if frames is not None and all(self.column(name).frames is None for name in self.fields):
            raise UsageError("the dataset has no clips to choose frames of", got=self.fields, file=shown(self.path))
        fields = {name: self._stored(number, name, frames) for name in self.fields}
        labels = {name: self._values(name)[number].as_py() for name in self.label_names}
        return Sample(number, self.key(number), fields, labels)

    def _stored(self, number: int, name: str, frames: slice | Sequence[int] | None) -> StoredField:
        column = self.column(name)
        if frames is None or column.frames is None:
            whole = self.read([number], name)
            return self.checked(number, name, whole.data[: int(whole.lengths[0])].tobytes())
        try:
            chosen = chosen_frames(column.frames, number, frames)
        except UsageError as error:
            error.sample = self.key(number)
            raise
        reading = self.plan_reading(np.array([number]), (name,), {name: chosen})
        block = self._filled(reading)
        starts, lengths = reading.starts[:, 0].tolist(), reading.lengths[:, 0].tolist()
        pieces = [block[start : start + length].tobytes() for start, length in zip(starts, lengths, strict=True)]
        sums = checksums(column, reading.ids, chosen)
        for at, piece in enumerate(pieces):
            if sums is not None and crc32c(piece) != sums[at, 0]:
                raise self._damaged(number, name, (crc32c(piece), int(sums[at, 0])), int(chosen[0, at]))
        return self._described(number, name, b"".join(pieces), tuple(lengths))

    def checked(self, number: int, name: str, data: bytes) -> StoredField:
        """Give what was read of a sample's field, all of it, once its checksum is seen to be right."""
        column = self.column(name)
        if column.crc32c is not None and crc32c(data) != column.crc32c[number]:
            raise self._damaged(number, name, (crc32c(data), int(column.crc32c[number])))
        if column.frames is None:
            return self._described(number, name, data)
        frames = [data[begin:end] for begin, end in spans(column.frames, number)]
        return self._described(number, name, b"".join(frames), tuple(map(len, frames)))

    def _damaged(self, number: int, name: str, sums: tuple[int, int], frame: int | None = None) -> ChecksumError:
        column = self.column(name)
        return ChecksumError(
            "checksum differs",
            file=self._index.names(column.file[[number]])[0],
            sample=self.key(number),
            frame=frame_number(column, number, frame),
            byte_range=byte_range(column, number, frame),
            got=f"{sums[0]:08x}",
            expected=f"{sums[1]:08x}",
            hint="restore the file, or pack or list it again; of packed data `penstock verify` tells more",
        )

    def _described(self, number: int, name: str, data: bytes, frames: tuple[int, ...] | None = None) -> StoredField:
        """Say what was read: as the index does, or where it knows nothing, as the header of the (first) picture."""
        column = self.column(name)
        format_, width, height = column.formats[column.format[number]], column.width[number], column.height[number]
        if format_ == UNREAD:
            try:
                format_, width, height = probe_image(data if frames is None else data[: sum(frames[:1])])
            except ImageError:
                return StoredField(data, "unknown", 1, 1, frames)
            format_ = format_ if frames is None else "mjpeg"
        return StoredField(data, format_, int(width), int(height), frames)

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
