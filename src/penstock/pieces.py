"""Pieces: what is read of a sample's field. Of an image, all its bytes; of a clip, the frames that are wanted.

Ranges come as arrays with a row per piece and a column per sample: one row for an image, one for each wanted frame. A
wanted frame is known by its position among those of all clips, in the arrays of `Column.frames`. A frame may be wanted
twice: its bytes are read once, since plans of reads merge what overlaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.storage.ranges import FRAME_GAP_BYTES
from penstock.types import Column, Frames

__all__ = [
    "Chosen",
    "byte_range",
    "checksums",
    "chosen_frames",
    "frame_counts",
    "frame_number",
    "most_bytes",
    "ranges",
    "rows_of",
    "spans",
    "usual_bytes",
]

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
    usual: NDArray[np.int64] = np.ceil(frames * (each + np.where(gaps <= FRAME_GAP_BYTES, gaps, 0))).astype(np.int64)
    return np.minimum(usual, column.length)


def most_bytes(column: Column, frames: int, *, alignment: int = 1) -> NDArray[np.int64]:
    """Give a bound on what reading so many of its frames takes of each clip, wherever they are.

    A frame takes its bytes, the ends of the blocks that it begins and ends in, and a gap that is read with it. And of a
    clip no more is read than all of it, its ends, and a gap to what follows.
    """
    assert column.frames is not None
    found, ends = column.frames, 2 * (alignment - 1) + FRAME_GAP_BYTES
    largest = np.maximum.reduceat(found.length, found.first[:-1]) if len(column) else np.zeros(0, np.int64)
    most: NDArray[np.int64] = np.minimum(column.length + ends, frames * (largest + ends))
    return most


def spans(frames: Frames, number: int) -> Iterator[tuple[int, int]]:
    """Say where each frame of a sample's clip begins and ends in it."""
    own = slice(int(frames.first[number]), int(frames.first[number + 1]))
    begins, lengths = frames.offset[own].tolist(), frames.length[own].tolist()
    return ((begin, begin + length) for begin, length in zip(begins, lengths, strict=True))


def chosen_frames(frames: Frames, number: int, which: slice | Sequence[int]) -> NDArray[np.int64]:
    """Give the positions, [1, frames], of some frames of a sample's clip: a slice of them, or by their numbers."""
    first, count = int(frames.first[number]), int(frames.first[number + 1] - frames.first[number])
    if isinstance(which, slice):
        return np.arange(first, first + count)[which][None]
    given = np.asarray(which)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        got, expected = repr(which), "a slice or a list of whole numbers, such as [0, 4, 8]"
        raise UsageError("frames are chosen by their numbers", got=got, expected=expected)
    outside = given[(given < -count) | (given >= count)]
    if outside.size:
        raise UsageError("there is no such frame", got=int(outside[0]), expected=f"{-count} to {count - 1}")
    return (first + np.where(given < 0, given + count, given)).astype(np.int64)[None]


def rows_of(column: Column, rows: NDArray[np.int64]) -> Column:
    """Give a column of some rows."""
    return Column(
        file=column.file[rows],
        offset=column.offset[rows],
        length=column.length[rows],
        crc32c=None if column.crc32c is None else column.crc32c[rows],
        format=column.format[rows],
        width=column.width[rows],
        height=column.height[rows],
        formats=column.formats,
        frames=None if column.frames is None else _frames_of(column.frames, rows),
    )


def _frames_of(frames: Frames, rows: NDArray[np.int64]) -> Frames:
    counts = np.diff(frames.first)[rows]
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    which = np.repeat(frames.first[rows] - first[:-1], counts) + np.arange(first[-1])
    crc32c = None if frames.crc32c is None else frames.crc32c[which]
    return Frames(first, frames.offset[which], frames.length[which], crc32c)
