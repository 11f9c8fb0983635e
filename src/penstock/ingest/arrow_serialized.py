"""Reads what `pyarrow.serialize` wrote, an encoding of Python values that Arrow had until version 14.

    counts     of what comes after the stream: two to four 32-bit numbers, filled up to 8 bytes
    stream     an Arrow stream of one batch: a column `list`, a dense union with one row, the value
    the rest   at multiples of 64: tensors and arrays, each an Arrow message; buffers, each after its length

A union has one child for each type of value; lists and tuples (in the oldest files each in a struct of its own) are
lists of unions, dicts are lists of pairs of unions. An array is a 32-bit number: its place behind the stream. Names of
children, which changed twice, say nothing that types do not. Bytes lie in the batch as they were, so an image is a
range of the record. What stands for a Python object is a dict with the key _pytype_: that is where code could come in,
and it is refused. So is, by Arrow, what holds a None and is older than Arrow 1.0.

The stream is read by Arrow, which checks it whole before anything in it is looked at.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa

from penstock.errors import SourceError
from penstock.ingest.unwrapped import DEEPEST, Array, Blob, broken

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_arrow_serialized", "read_arrow_serialized"]

_OLDEST = 8  # where the stream begins before Arrow 0.12, whose codes of types are places of children
_STARTS = (_OLDEST, 16)
_FURTHEST_TABLE = 64
_CONTINUES = b"\xff\xff\xff\xff"  # before each message, since Arrow 0.15
_LARGEST_HEADER = 1 << 20
_ALIGNMENT = 64
_PYTYPE = "_pytype_"
_TROUBLE = (
    pa.ArrowException,
    ValueError,
    TypeError,
    LookupError,
    OSError,
    OverflowError,
    MemoryError,
    struct.error,
    StopIteration,
)
_SCALARS = {pa.bool_(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.string()}


def is_arrow_serialized(data: bytes | memoryview) -> bool:
    """Whether a record begins like one of these."""
    return _stream_at(bytes(data[:32])) is not None


def read_arrow_serialized(data: bytes | memoryview) -> Any:
    """Give what a record comes to. SourceError where it is broken, or holds more than data."""
    start = _stream_at(bytes(data[:32]))
    if start is None:
        raise broken("this is nothing that pyarrow.serialize wrote", offset=0)
    try:
        return _Record(data, start).value()
    except SourceError:
        raise
    except _TROUBLE as error:
        got = f"{type(error).__name__}: {error!s:.80}"
        raise broken("the Arrow record is broken", got=got) from None


def _stream_at(start: bytes) -> int | None:
    """Say where the stream begins: with a message neither empty nor huge, whose table begins within its first bytes."""
    for at in _STARTS:
        message = at + (4 if start[at : at + 4] == _CONTINUES else 0)
        if len(start) < message + 8:
            continue
        length, table = struct.unpack_from("<ii", start, message)
        if 16 <= length < _LARGEST_HEADER and 4 <= table <= _FURTHEST_TABLE:
            return at
    return None


@final
class _Record:
    """A record that is being read."""

    def __init__(self, data: bytes | memoryview, start: int) -> None:
        self.data, self.start = bytes(data), start  # a copy, since numbers must be aligned
        buffer = pa.py_buffer(self.data)
        self.base, self.size = buffer.address, buffer.size
        self.source = pa.BufferReader(buffer)
        self.source.seek(start)
        stream = pa.ipc.open_stream(self.source)
        self.batch = stream.read_next_batch()
        self.batch.validate(full=True)
        if self.batch.num_columns != 1 or self.batch.num_rows != 1:
            got = f"{self.batch.num_columns} columns, {self.batch.num_rows} rows"
            raise broken("the Arrow record is not one value", got=got)
        for _ in stream:
            raise broken("the Arrow record has a second batch")
        self.arrays: list[Array] = []
        self.more = self.tensors()

    def value(self) -> Any:
        return self.one(self.batch.column(0), 0, 0)

    def one(self, union: Any, row: int, depth: int) -> Any:
        """Give one value of a union."""
        if depth > DEEPEST:
            raise broken("the Arrow record is nested too deep")
        if not pa.types.is_union(union.type) or union.type.mode != "dense":
            raise broken("the Arrow record has another type where a union must be", got=f"{union.type!s:.80}")
        code = union.type_codes[row].as_py()
        child = union.field(code if self.start == _OLDEST else union.type.type_codes.index(code))
        at = union.offsets[row].as_py()
        if pa.types.is_struct(child.type) and child.type.num_fields == 1:
            child = child.field(0)
        return None if child.is_null()[at].as_py() else self.of_type(child, at, depth)

    def of_type(self, child: Any, at: int, depth: int) -> Any:
        """Give one value of a union's child."""
        kind = child.type
        if kind == pa.binary():
            return self.blob(child, at)
        if kind == pa.int32():
            return self.array(child[at].as_py())
        if kind in _SCALARS:
            found = child[at].as_py()
            return found.item() if isinstance(found, np.generic) else found
        if not pa.types.is_list(kind):
            raise broken("the Arrow record holds something else than data", got=f"{kind!s:.80}")
        first, stop = child.offsets[at].as_py(), child.offsets[at + 1].as_py()
        if pa.types.is_struct(kind.value_type):
            return self.dict(child.values, first, stop, depth)
        return [self.one(child.values, item, depth + 1) for item in range(first, stop)]

    def dict(self, pairs: Any, first: int, stop: int, depth: int) -> dict[Any, Any]:
        made = {}
        for item in range(first, stop):
            key = self.one(pairs.field(0), item, depth + 1)
            if key is not None and not isinstance(key, (str, int, float)):
                raise broken("a key of the Arrow record is neither text nor a number")
            if key == _PYTYPE:
                hint = "it is never made; write the dataset again as bytes and numbers"
                error = broken("the Arrow record holds a Python object, which is refused")
                error.hint = hint
                raise error
            made[key] = self.one(pairs.field(1), item, depth + 1)
        return made

    def blob(self, array: Any, at: int) -> Blob:
        """Say where in the record the bytes of a row are."""
        _, offsets, data = array.buffers()
        start, stop = struct.unpack_from("<2i", offsets, 4 * (array.offset + at))
        return Blob(b"", None) if start == stop or data is None else self.part(data.address + start, stop - start)

    def part(self, address: int, size: int) -> Blob:
        offset = address - self.base
        if size < 0 or not 0 <= offset <= self.size - size:  # Arrow had to unpack it
            raise broken("the Arrow record is compressed")
        return Blob(memoryview(self.data)[offset : offset + size], offset)

    def array(self, number: int) -> Array:
        """Give one of the arrays."""
        if np.count_nonzero(np.frombuffer(self.data, "<i4", self.start // 4)) > 1:
            raise broken("the Arrow record holds tensors or buffers beside arrays")
        while len(self.arrays) <= number:
            self.arrays.append(next(self.more))
        return self.arrays[number]

    def tensors(self) -> Iterator[Array]:
        """Read the arrays behind the stream, as many as are asked for."""
        while True:
            self.source.seek(-(-self.source.tell() // _ALIGNMENT) * _ALIGNMENT)
            found = pa.ipc.read_tensor(self.source)
            numbers = found.to_numpy()
            if not numbers.flags.c_contiguous:
                raise broken("an array is stored column by column")
            yield Array(numbers.dtype.str, numbers.shape, self.part(numbers.ctypes.data, numbers.nbytes))
