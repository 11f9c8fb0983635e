"""Pieces: what is read of a sample's field. Of an image, all its bytes; of a clip, the frames that are wanted.

Ranges come as arrays with a row per piece and a column per sample: one row for an image, one for each wanted frame. A
wanted frame is known by its position among those of all clips, in the arrays of `Column.frames`. A frame may be wanted
twice: its bytes are read once, since plans of reads merge what overlaps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.storage.ranges import GAP_BYTES

if TYPE_CHECKING:
    from penstock.types import Column

__all__ = ["Chosen", "byte_range", "checksums", "frame_counts", "frame_number", "most_bytes", "ranges", "usual_bytes"]

Chosen: TypeAlias = Mapping[str, NDArray[np.int64]]
"""By field, the positions of wanted frames, [samples, frames of each]; fields that are not in it are wanted whole."""


def ranges(
    column: Column, ids: NDArray[np.int64], chosen: NDArray[np.int64] | None
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Give file, offset and length of the pieces of some samples, [pieces, samples] each."""
    file, offset, length = column.file[ids][None], column.offset[ids][None], column.length[ids][None]
    if chosen is None or column.frames is None:
        return file, offset, length
    frames = chosen.T
    return np.broadcast_to(file, frames.shape), offset + column.frames.offset[frames], column.frames.length[frames]


def checksums(column: Column, ids: NDArray[np.int64], chosen: NDArray[np.int64] | None) -> NDArray[np.uint32] | None:
    """Give the checksums of the pieces of some samples, [pieces, samples]; None where there are none."""
    if chosen is None or column.frames is None:
        return None if column.crc32c is None else column.crc32c[ids][None]
    return None if column.frames.crc32c is None else column.frames.crc32c[chosen.T]


def byte_range(column: Column, number: int, frame: int | None = None) -> tuple[int, int]:
    """Say where a sample's bytes are in their file, or those of one of its frames, known by its position."""
    begin, length = int(column.offset[number]), int(column.length[number])
    if frame is not None and column.frames is not None:
        begin, length = begin + int(column.frames.offset[frame]), int(column.frames.length[frame])
    return begin, begin + length


def frame_number(column: Column, number: int, frame: int | None) -> int | None:
    """Say which of its clip's frames the one at this position is."""
    return None if frame is None or column.frames is None else frame - int(column.frames.first[number])


def frame_counts(column: Column) -> NDArray[np.int64]:
    """Count the frames of every clip."""
    assert column.frames is not None
    return np.diff(column.frames.first)


def usual_bytes(column: Column, frames: int, stride: int) -> NDArray[np.int64]:
    """Expect so many bytes to be read of each clip: those of every `stride`-th frame, and short gaps between them."""
    each = column.length / frame_counts(column)
    gaps = each * (stride - 1)
    usual: NDArray[np.int64] = np.ceil(frames * (each + np.where(gaps <= GAP_BYTES, gaps, 0))).astype(np.int64)
    return np.minimum(usual, column.length)


def most_bytes(column: Column, frames: int, *, alignment: int = 1) -> NDArray[np.int64]:
    """Give a bound on what reading so many of its frames takes of each clip, wherever they are.

    A frame takes its bytes, the ends of the blocks that it begins and ends in, and a gap that is read with it. And of a
    clip no more is read than all of it, its ends, and a gap to what follows.
    """
    assert column.frames is not None
    found, ends = column.frames, 2 * (alignment - 1) + GAP_BYTES
    largest = np.maximum.reduceat(found.length, found.first[:-1]) if len(column) else np.zeros(0, np.int64)
    most: NDArray[np.int64] = np.minimum(column.length + ends, frames * (largest + ends))
    return most
