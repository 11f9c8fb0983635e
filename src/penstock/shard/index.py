"""The index: one row per sample, as an Arrow table and as Parquet (docs/format/packed-v1.md, section 3). No I/O.

Opening must not wait, so the numeric columns decode at memory speed: dictionaries for columns with few values, deltas
for offsets and lengths, nothing compressed but strings. One row costs no Python at all when reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import FormatError
from penstock.shard.frames import FRAME_TYPES, frames_of
from penstock.shard.members import kind_of
from penstock.types import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.shard.sample import SampleBytes

__all__ = [
    "IndexRows",
    "column_names",
    "encode_index",
    "fields_of",
    "file_positions",
    "labels_of",
    "needed_columns",
    "numpy_of",
    "to_column",
]

ROW_GROUP_ROWS = 262_144
_NAMES = pa.dictionary(pa.int32(), pa.string())
_FIELD_TYPES = {
    "offset": pa.int64(),
    "length": pa.int64(),
    "crc32c": pa.uint32(),
    "format": _NAMES,
    "width": pa.int32(),
    "height": pa.int32(),
    "suffix": _NAMES,
}
# What the loader needs of a field, as opposed to what only export and people need.
_COLUMN_PARTS = ("offset", "length", "crc32c", "format", "width", "height")
_WRITTEN_OF_FRAMES = ("frame_length", "frame_crc32c")  # packed frames follow one another: no offsets


class IndexRows:
    """Collects the rows of one shard, column by column."""

    def __init__(self, fields: Sequence[str], labels: pa.Schema) -> None:
        self.schema = pa.schema(
            [
                ("key", pa.string()),
                ("file", _NAMES),
                *((f"{field}.{part}", kind) for field in fields for part, kind in _types(field).items()),
                *labels,
            ]
        )
        self._fields = tuple(fields)
        self._labels = tuple(labels.names)
        self._columns: dict[str, list[Any]] = {name: [] for name in self.schema.names}

    def __len__(self) -> int:
        return len(self._columns["key"])

    def add(self, sample: SampleBytes, file: str, start: int) -> None:
        """Note a sample whose bytes begin at `start` of a shard."""
        columns = self._columns
        columns["key"].append(sample.key)
        columns["file"].append(file)
        for name in self._fields:
            place = sample.fields[name]
            columns[f"{name}.offset"].append(start + place.offset)
            for part in _types(name).keys() - {"offset"}:
                columns[f"{name}.{part}"].append(getattr(place, part))
        for name in self._labels:
            columns[name].append(sample.labels[name])

    def take(self) -> pa.Table:
        """Give the rows as a table and begin anew."""
        table = pa.table({name: pa.array(self._columns[name], kind) for name, kind in _kinds(self.schema)}, self.schema)
        self._columns = {name: [] for name in self.schema.names}
        return table


def _types(field: str) -> dict[str, pa.DataType]:
    """Give what is written of a field: the parts of its columns' names, and their types."""
    frames = {part: FRAME_TYPES[part] for part in _WRITTEN_OF_FRAMES} if kind_of(field) == "clip" else {}
    return _FIELD_TYPES | frames


def _kinds(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(column.name, column.type) for column in schema]


def encode_index(table: pa.Table) -> pa.Buffer:
    """Give a table as a Parquet file: the same bytes for the same rows."""
    few = [
        name
        for name, kind in _kinds(table.schema)
        if pa.types.is_dictionary(kind) or name.endswith((".width", ".height"))
    ]
    few += [name for name in labels_of(table.schema) if not pa.types.is_floating(table.schema.field(name).type)]
    frames = [name for name in table.schema.names if name.rpartition(".")[2] in FRAME_TYPES]
    deltas = [name for name in table.schema.names if name.endswith((".offset", ".length"))]
    deltas += [f"{name}.list.element" for name in frames if not name.endswith("crc32c")]
    many = {
        name for name, kind in _kinds(table.schema) if name not in {*few, *frames} and not pa.types.is_primitive(kind)
    }
    columns = [f"{name}.list.element" if name in frames else name for name in table.schema.names]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.unify_dictionaries().combine_chunks(),
        sink,
        row_group_size=ROW_GROUP_ROWS,
        use_dictionary=few,
        column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
        compression={name: "zstd" if name in many else "none" for name in columns},
    )
    return sink.getvalue()


def fields_of(schema: pa.Schema) -> tuple[str, ...]:
    """Name the binary fields that an index of our own making describes; of any other, its manifest tells."""
    return tuple(name.removesuffix(".offset") for name in schema.names if name.endswith(".offset"))


def labels_of(schema: pa.Schema) -> tuple[str, ...]:
    """Name the labels of an index of our own making: all columns that are not the format's own."""
    fields = {f"{field}.{part}" for field in fields_of(schema) for part in (*_FIELD_TYPES, *FRAME_TYPES)}
    return tuple(name for name in schema.names if name not in fields and name not in {"key", "file"})


def needed_columns(fields: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Name what the index of a packed dataset cannot do without."""
    parts = {"clip": (*_COLUMN_PARTS, "frame_length")}
    of_fields = (f"{field}.{part}" for field in fields for part in parts.get(kind_of(field), _COLUMN_PARTS))
    return ["key", "file", *of_fields, *labels]


def column_names(field: str, schema: pa.Schema) -> list[str]:
    """Name the columns that `to_column` needs; an index over untouched files has no checksums."""
    names = ["file", *(f"{field}.{part}" for part in (*_COLUMN_PARTS, *FRAME_TYPES))]
    return [name for name in names if name in schema.names]


def to_column(table: pa.Table, field: str, files: NDArray[np.int32], path: str) -> Column:
    """Turn a field's columns into NumPy arrays; `files` says which file each row lies in."""
    try:
        codes, formats = _codes(table.column(f"{field}.format"))
        length = _numbers(table, f"{field}.length", np.int64)
        column = Column(
            file=files,
            offset=_numbers(table, f"{field}.offset", np.int64),
            length=length,
            crc32c=_numbers(table, f"{field}.crc32c", np.uint32) if f"{field}.crc32c" in table.column_names else None,
            format=codes.astype(np.uint8),
            width=_numbers(table, f"{field}.width", np.int32),
            height=_numbers(table, f"{field}.height", np.int32),
            formats=formats,
            frames=frames_of(table, field, length, path),
        )
    except KeyError as error:
        raise FormatError(f"the index lacks a column: {error}", file=path) from error
    except (TypeError, pa.ArrowException) as error:
        raise FormatError(f"a column of the index has another type: {error}", file=path) from error
    if len(column) and (column.offset.min() < 0 or column.length.min() < 0):
        raise FormatError("the index holds a negative offset or length", file=path)
    return column


def file_positions(table: pa.Table, names: Sequence[str], path: str) -> NDArray[np.int32]:
    """Say for each row which of the named files it lies in."""
    codes, found = _codes(table.column("file"))
    position = {name: number for number, name in enumerate(names)}
    unknown = [name for name in found if name not in position]
    if unknown:
        raise FormatError("the index names a file that the manifest does not list", file=path, got=unknown[0])
    return np.array([position[name] for name in found], np.int32)[codes] if found else np.empty(0, np.int32)


def numpy_of(column: pa.ChunkedArray) -> NDArray[Any]:
    """Give numbers as one NumPy array, without a copy where there is one chunk."""
    if column.null_count:
        raise FormatError("the index holds an empty value where a number must be", got=f"{column.null_count} of them")
    if column.num_chunks == 1:
        return np.asarray(column.chunk(0).to_numpy(zero_copy_only=not pa.types.is_boolean(column.type)))
    return np.asarray(column.to_numpy())


def _numbers(table: pa.Table, name: str, kind: type[np.generic]) -> NDArray[Any]:
    """Give a column as numbers of the format's type; a narrower type will do, a wider one will not."""
    return numpy_of(table.column(name)).astype(kind, casting="safe", copy=False)


def _codes(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Split a column of names into numbers and the names they stand for."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return np.empty(0, np.int32), ()
    codes = np.concatenate([np.asarray(chunk.indices.to_numpy(zero_copy_only=False)) for chunk in column.chunks])
    return codes.astype(np.int32, copy=False), tuple(column.chunk(0).dictionary.to_pylist())
