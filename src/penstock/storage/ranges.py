"""Plans reads: many small byte ranges become fewer, larger ones. Pure: arrays in, a frozen plan out.

Samples of one batch often lie next to one another (sequential order, windows). Reading them one by one costs a system
call each; reading from the first to the last byte of a run costs one. Between two neighbours lie a tar header and a
label, about 1.5 KB that nobody wants, but reading them is cheaper than another call, up to `gap_bytes`.

The plan says where each wanted range starts in the block that the merged reads fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FRAME_GAP_BYTES", "GAP_BYTES", "ReadPlan", "plan_reads"]

GAP_BYTES = 16 * 1024  # copying 16 KB out of the page cache costs about as much as one more system call
# Between frames that are wanted lie others, of the same clip or the next. Copying this much costs a quarter of what
# decoding a small frame does, and where a medium has to seek, reading on is ever cheaper.
FRAME_GAP_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Reads to make, sorted by file and offset, and where the ranges asked for will be."""

    file: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    position: NDArray[np.int64]  # per read: where in the block it goes
    start: NDArray[np.int64]  # per range asked for, in the order asked: where it starts in the block
    read: NDArray[np.int64]  # per range asked for: the read that brings it
    block_bytes: int

    def __len__(self) -> int:
        return len(self.offset)

    def part(self, which: NDArray[np.intp], *, file: NDArray[np.int32]) -> ReadPlan:
        """Give some of the reads, of files by these numbers. Which ranges they are for is the whole plan's to say."""
        none = np.empty(0, np.int64)
        length = self.length[which]
        return ReadPlan(file, self.offset[which], length, self.position[which], none, none, int(length.sum()))


def plan_reads(
    file: NDArray[np.int32],
    offset: NDArray[np.int64],
    length: NDArray[np.int64],
    *,
    gap_bytes: int = GAP_BYTES,
    alignment: int = 1,
) -> ReadPlan:
    """Merge ranges of one file that overlap, touch, or lie at most `gap_bytes` apart. Any order, repeats allowed.

    Reads begin and end at multiples of `alignment`, in the file (perhaps beyond its end) and in the block.
    """
    count = len(offset)
    if count == 0:
        none = np.empty(0, np.int64)
        return ReadPlan(np.empty(0, np.int32), none, none, none, none, none, 0)
    by_place = np.lexsort((offset, file))
    file, wanted = file[by_place], offset[by_place]
    begin = wanted // alignment * alignment
    end = -(-(wanted + length[by_place]) // alignment) * alignment
    # A new read begins where the file changes or where nothing before reaches near enough. Within one file the
    # furthest end so far is a running maximum; files are kept apart by lifting each above everything before it.
    lift = np.cumsum(np.concatenate(([0], np.where(file[1:] != file[:-1], end.max() + gap_bytes + 1, 0))))
    furthest = np.maximum.accumulate(end + lift)
    opens = np.concatenate(([True], begin[1:] + lift[1:] > furthest[:-1] + gap_bytes))
    first = np.flatnonzero(opens)
    last = np.concatenate((first[1:], [count])) - 1
    read_offset = begin[first]
    read_length = furthest[last] - lift[last] - read_offset
    position = np.cumsum(read_length) - read_length
    of_read = np.cumsum(opens) - 1
    start, read = np.empty(count, np.int64), np.empty(count, np.int64)
    start[by_place] = position[of_read] + wanted - read_offset[of_read]
    read[by_place] = of_read
    return ReadPlan(file[first], read_offset, read_length, position, start, read, int(read_length.sum()))
