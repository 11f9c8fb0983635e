"""Reads Caffe's Datum, a protobuf message: an image, encoded or as pixels, and its label.

    1 channels   2 height   3 width   4 data (bytes)   5 label   6 float_data (repeated)   7 encoded

Pixels are stored plane by plane, channels first, and in OpenCV's order: blue, green, red. Fields of other numbers are
passed over, as protobuf has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.ingest.unwrapped import Blob, broken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Datum", "read_datum"]

_VARINT, _BYTES = 0, 2  # kinds of fields
_FIXED = {1: 8, 5: 4}
_LAST_FIELD = 2**29 - 1
_DATA, _FLOAT_DATA = 4, 6
_NUMBERS = {1: "channels", 2: "height", 3: "width", 5: "label", 7: "encoded"}


@dataclass(frozen=True, slots=True)
class Datum:
    """A message."""

    data: Blob
    label: int
    channels: int
    height: int
    width: int
    is_encoded: bool

    def pixels(self) -> NDArray[np.uint8]:
        """Give the pixels, height x width x channels, red first."""
        if self.channels not in {1, 3}:
            raise broken("pixels of so many channels are no picture", got=self.channels, expected="1 or 3")
        if self.height < 1 or self.width < 1 or self.channels * self.height * self.width != len(self.data):
            got = f"{len(self.data)} bytes for {self.channels}x{self.height}x{self.width}"
            raise broken("the pixels are not as many as the message says", got=got)
        planes = np.frombuffer(self.data.data, np.uint8).reshape(self.channels, self.height, self.width)
        return np.ascontiguousarray(planes[::-1].transpose(1, 2, 0))


def read_datum(data: bytes | memoryview) -> Datum:
    """Read a message; it must be the whole of the data. SourceError where it is none."""
    numbers = dict.fromkeys(_NUMBERS.values(), 0)
    found: Blob | None = None
    for field, value in _fields(data):
        if field == _FLOAT_DATA:
            raise broken("the Datum holds floating-point numbers, not a picture")
        if field == _DATA and isinstance(value, Blob):
            found = value
        elif field in _NUMBERS and isinstance(value, int):
            numbers[_NUMBERS[field]] = value - (1 << 64 if value >> 63 else 0)
    if found is None:
        raise broken("the Datum has no data")
    shape = numbers["channels"], numbers["height"], numbers["width"]
    return Datum(found, numbers["label"], *shape, bool(numbers["encoded"]))


def _fields(data: bytes | memoryview) -> Iterator[tuple[int, int | Blob | None]]:
    """Give the fields of a message: numbers and bytes; of those of fixed size only that they are there."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        field, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield field, value
        elif kind == _BYTES:
            length, at = _varint(data, at)
            if length > len(data) - at:
                break
            yield field, Blob(memoryview(data)[at : at + length], at)
            at += length
        elif kind in _FIXED:
            at += _FIXED[kind]
            yield field, None
        else:
            raise broken("this is no Datum", offset=at, got=f"wire type {kind}")
        if not 0 < field <= _LAST_FIELD:
            raise broken("this is no Datum", offset=at, got=f"field {field}")
    if at != len(data):
        raise broken("the Datum is cut short", offset=at, got=f"{len(data)} bytes")


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if at + place >= len(data):
            break
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & (1 << 64) - 1, at + place + 1
    raise broken("a number of the message does not end", offset=at)
