"""Frames of clips in the index: lists in Arrow, flat arrays in NumPy (docs/format/packed-v1.md, section 3). No I/O.

A clip's bytes are its frames one after another, so lengths say where each is. Only where something lies between them
(padding, in files that others wrote) does the index state offsets, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.errors import FormatError
from penstock.types import Frames

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FRAME_TYPES", "frames_of"]

FRAME_TYPES = {
    "frame_length": pa.list_(pa.int32()),
    "frame_crc32c": pa.list_(pa.uint32()),
    "frame_offset": pa.list_(pa.int64()),
}


def frames_of(table: pa.Table, field: str, lengths: NDArray[np.int64], path: str) -> Frames | None:
    """Turn a field's lists into arrays; None where the field is no clip. `lengths` are those of the clips."""
    columns = {part: f"{field}.{part}" for part in FRAME_TYPES if f"{field}.{part}" in table.column_names}
    if "frame_length" not in columns:
        return None
    first, length = _flat(table.column(columns["frame_length"]), np.int64, path)
    counts = np.diff(first)
    if len(counts) and counts.min() < 1:
        raise FormatError("a clip without frames", file=path, sample=int(np.argmin(counts)))
    found: dict[str, NDArray[Any]] = {}
    for part, kind in (("frame_offset", np.int64), ("frame_crc32c", np.uint32)):
        if part in columns:
            starts, found[part] = _flat(table.column(columns[part]), kind, path)
            if not np.array_equal(starts, first):
                raise FormatError(f"{columns[part]} has other frames than {columns['frame_length']}", file=path)
    if "frame_offset" in found:
        offset = found["frame_offset"]
    else:  # counted from the first frame of all, less where each clip's own first frame is
        offset = np.cumsum(length) - length
        offset -= np.repeat(offset[first[:-1]], counts)
    outside = np.flatnonzero((length < 0) | (offset < 0) | (offset > np.repeat(lengths, counts) - length))
    if len(outside):
        sample = int(np.searchsorted(first, outside[0], side="right")) - 1
        number, where = int(outside[0] - first[sample]), (int(offset[outside[0]]), int(lengths[sample]))
        got = f"frame {number}, {length[outside[0]]} bytes from byte {where[0]} of the clip on"
        raise FormatError("a frame lies outside its clip", file=path, sample=sample, got=got, expected=where[1])
    return Frames(first, offset, length, found.get("frame_crc32c"))


def _flat(column: pa.ChunkedArray, kind: type[np.generic], path: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Give where each row's values begin, and the values of all rows."""
    if not pa.types.is_list(column.type) or column.null_count:
        raise FormatError("a column of frames does not hold a list in every row", file=path, got=str(column.type))
    counts = [np.diff(np.asarray(chunk.offsets)) for chunk in column.chunks]
    values = [chunk.flatten() for chunk in column.chunks]
    if any(chunk.null_count for chunk in values):
        raise FormatError("a column of frames holds an empty value where a number must be", file=path)
    first = np.zeros(len(column) + 1, np.int64)
    np.cumsum(np.concatenate([np.zeros(0, np.int32), *counts]), out=first[1:])
    flat = np.concatenate([np.zeros(0, kind), *(np.asarray(chunk) for chunk in values)])
    return first, flat.astype(kind, casting="same_kind", copy=False)
