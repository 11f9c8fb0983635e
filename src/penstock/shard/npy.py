"""Decoded pixels as `.npy` bytes: made, recognised and read (docs/format/packed-v1.md, section 4). No I/O."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["decode_npy", "encode_npy", "probe_npy"]


def encode_npy(pixels: NDArray[np.uint8]) -> bytes:
    """Give [height, width, channels] pixels as a file of NumPy's format 1.0."""
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.ascontiguousarray(pixels), version=(1, 0), allow_pickle=False)
    return sink.getvalue()


def probe_npy(data: bytes) -> tuple[str, int, int]:
    """Give format, width and height of stored pixels; FormatError where the bytes are not exactly such a file."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    except ValueError as error:
        raise FormatError(f"not a .npy file: {error}") from error
    if version != (1, 0) or by_columns or dtype != np.uint8 or len(shape) != 3:
        got = f"version {version}, {dtype} {shape}"
        raise FormatError("not stored pixels", got=got, expected="version (1, 0), uint8 (height, width, channels)")
    if len(data) - stream.tell() != shape[0] * shape[1] * shape[2]:
        raise FormatError("the array's size differs", got=len(data) - stream.tell(), expected=f"{shape}")
    return "npy", shape[1], shape[0]


def decode_npy(data: bytes) -> NDArray[np.uint8]:
    """Read stored pixels."""
    probe_npy(data)
    return np.asarray(np.lib.format.read_array(io.BytesIO(data), allow_pickle=False), np.uint8)
