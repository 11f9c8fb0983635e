"""What a serialised value comes to, once it is unwrapped: plain Python, and bytes that know where they lie.

Records of foreign files are images wrapped into something: a pickle, a MessagePack, an Arrow record batch, a protobuf.
What is wanted of the wrapping is little: where the image's bytes begin and end, and the label beside them. So readers
here (pickled.py, messagepack.py, arrow_serialized.py, datum.py) give values made of

    None, bool, int, float, str, list, tuple, dict
    Blob      bytes, and where in the record they lie, if they lie there as they are
    Array     a NumPy array of numbers: dtype, shape, and its Blob

and nothing else. They call nothing that a file names: a value that asks for more is an error that says what.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import SourceError

__all__ = ["DEEPEST", "Array", "Blob", "broken", "plain"]

DEEPEST = 32  # lists in lists; records have one or two
_DTYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248])")
_MOST_NUMBERS = 1 << 28


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes of a record."""

    data: bytes | memoryview
    offset: int | None  # in the record; None where they had to be made

    def __len__(self) -> int:
        return len(self.data)

    def __bytes__(self) -> bytes:
        return bytes(self.data)


@dataclass(frozen=True, slots=True)
class Array:
    """A NumPy array of numbers."""

    dtype: str
    shape: tuple[int, ...]
    blob: Blob

    def __post_init__(self) -> None:
        if not _DTYPE.fullmatch(self.dtype):
            raise broken("an array of another kind than numbers", got=f"dtype {self.dtype!r:.60}")
        if any(type(side) is not int or side < 0 for side in self.shape) or len(self.shape) > DEEPEST:
            raise broken("an array's shape cannot be")
        count = math.prod(self.shape)
        if count > _MOST_NUMBERS or count * np.dtype(self.dtype).itemsize != len(self.blob):
            got = f"{len(self.blob)} bytes of {self.dtype} for {self.shape!r:.80}"
            raise broken("an array has another number of bytes than its shape says", got=got)

    @property
    def is_bytes(self) -> bool:
        """Whether it is a row of bytes: how an encoded image is kept in an array."""
        return self.dtype.lstrip("<>|=") == "u1" and len(self.shape) == 1

    def numbers(self) -> Any:
        """Give its numbers: one, or lists of them."""
        return np.frombuffer(self.blob.data, self.dtype).reshape(self.shape).tolist()


def plain(value: Any) -> Any:
    """Give a label as Python has it: text and numbers. Anything else as it is."""
    if isinstance(value, Array) and math.prod(value.shape) == 1:
        return np.frombuffer(value.blob.data, value.dtype)[0].item()
    return value


def broken(what: str, *, offset: int | None = None, got: object = None, expected: object = None) -> SourceError:
    """Make the error of a record; whoever knows the file adds it."""
    where = None if offset is None else (offset, offset + 1)
    return SourceError(what, byte_range=where, got=got, expected=expected)
