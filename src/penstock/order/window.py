"""A shuffle for media that dislike seeking: long runs of stored data are read in a random order and mixed in memory.

    storage   blocks of neighbouring samples                     0 1 2 3 4 5 6 7 …
    scan      the same blocks in random order                    5 2 7 0 …
    lanes     the scan cut into equal parts                      5 2 | 7 0 | …
    windows   each lane cut again; samples shuffled in each      (5 2) | (7 0) | …
    order     a sample of each lane in turn                      lane 0, lane 1, …, lane 0, lane 1, …

Why blocks: whoever reads 4 MiB at a time gets nearly the full rate of a hard disk or an object store. Why windows: they
are read whole, and a sample comes from anywhere in its window. Why lanes: at any time the next sample comes from as
many windows as there are lanes, and position p belongs to lane p % lanes, so that with `world` ranks, where `world`
divides `lanes`, rank p % world needs nothing but its own lanes' windows: each byte is read by one rank, and the order
of all ranks together is the same for every such `world`.

Windows of different lanes begin at different times (lane 0's first window is the shortest, the last lane's is whole),
so that reading is even over the epoch and windows end one by one, in the order in which they were begun.

Warning: these orders are a promise, as those of permutation.py are.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, final

import numpy as np

from penstock.errors import UsageError
from penstock.order.mix import mix_key
from penstock.order.permutation import MAX_SAMPLES, Permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WindowOrder"]

TAIL, BLOCKS, WINDOW = range(3)  # what a key is for


@final
class WindowOrder:
    """Samples [0, n) in windows of `window` samples of each lane, out of blocks of `block` neighbouring samples."""

    repeats: Final = False

    def __init__(self, n: int, key: int, *, lanes: int, window: int, block: int) -> None:
        if not 0 <= n <= MAX_SAMPLES:
            raise UsageError("a shuffle has between 0 and 2**48 samples", got=n)
        if min(lanes, window, block) < 1:
            got = f"lanes={lanes}, window={window}, block={block}"
            raise UsageError("lanes, and the samples of a window and of a block, are at least one", got=got)
        self.lanes, self.window_samples, self.block_samples = lanes, window, block
        self._n, self._key = n, key
        whole_blocks, self._tail = divmod(n, block)
        self._tail_place = mix_key(key, TAIL) % (whole_blocks + 1)  # the shorter last block may come anywhere, too
        self._blocks = Permutation(whole_blocks, mix_key(key, BLOCKS))
        self._shuffled: OrderedDict[int, NDArray[np.int64]] = OrderedDict()  # windows in use, the latest last

    def __len__(self) -> int:
        return self._n

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the ids at these positions, each in [0, n)."""
        numbers, rows = self.windows(positions)
        by_window = np.argsort(numbers, kind="stable")
        found, first = np.unique(numbers[by_window], return_index=True)
        ids = np.empty(len(positions), np.int64)
        for number, where in zip(found.tolist(), np.split(by_window, first[1:]), strict=False):
            ids[where] = self._ids(number)[rows[where]]
        return ids

    def windows(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give the number of the window that each position draws from, and which of the window's samples it is."""
        steps, lanes = np.divmod(positions, self.lanes)
        late = (self.lanes - 1 - lanes) * self.window_samples // self.lanes  # how much the first window is shorter
        index = (steps + late) // self.window_samples
        return index * self.lanes + lanes, steps - np.maximum(index * self.window_samples - late, 0)

    def window_count(self, rank: int = 0, world_size: int = 1) -> int:
        """Count the windows that a rank draws from, the number of ranks being one that divides the lanes."""
        lanes = np.arange(rank, self.lanes, world_size)
        late = (self.lanes - 1 - lanes) * self.window_samples // self.lanes
        samples = (self._n - lanes + self.lanes - 1) // self.lanes
        return int(np.where(samples > 0, -(-(samples + late) // self.window_samples), 0).sum())

    def contents(self, number: int, *, start: int = 0, stop: int | None = None) -> tuple[int, NDArray[np.int64]]:
        """Give those of a window's samples that positions of [start, stop) draw: the first one's row, and their ids."""
        lane, first, last = self._bounds(number)
        stop = self._n if stop is None else stop
        begin, end = (min(max(-(-(at - lane) // self.lanes), first), last) for at in (start, stop))
        return begin - first, self._ids(number)[begin - first : end - first]

    def __repr__(self) -> str:
        shape = f"lanes={self.lanes}, window={self.window_samples}, block={self.block_samples}"
        return f"WindowOrder({self._n}, key={self._key}, {shape})"

    def _bounds(self, number: int) -> tuple[int, int, int]:
        """Give a window's lane, and from which to which of the lane's samples it goes."""
        index, lane = divmod(number, self.lanes)
        late = (self.lanes - 1 - lane) * self.window_samples // self.lanes
        count = (self._n - lane + self.lanes - 1) // self.lanes
        first, last = (index * self.window_samples - late, (index + 1) * self.window_samples - late)
        return lane, min(max(first, 0), count), min(last, count)

    def _ids(self, number: int) -> NDArray[np.int64]:
        """Give a window's samples in their shuffled order. Those of the windows in use are kept."""
        if number in self._shuffled:
            self._shuffled.move_to_end(number)
            return self._shuffled[number]
        lane, first, last = self._bounds(number)
        lane_start = self._n // self.lanes * lane + min(lane, self._n % self.lanes)
        shuffled = Permutation(last - first, mix_key(self._key, WINDOW, number))[:]
        self._shuffled[number] = ids = self._scan(lane_start + first + shuffled)
        if len(self._shuffled) > 2 * self.lanes:
            self._shuffled.popitem(last=False)
        return ids

    def _scan(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the samples at these places of the scan."""
        tail = self._tail_place * self.block_samples
        after = places >= tail + self._tail
        blocks, within = np.divmod(places - self._tail * after, self.block_samples)
        in_tail = (places >= tail) & ~after
        blocks[in_tail] = len(self._blocks)
        within[in_tail] = places[in_tail] - tail
        blocks[~in_tail] = self._blocks.at(blocks[~in_tail])
        return blocks * self.block_samples + within
