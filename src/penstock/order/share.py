"""A rank's share of an epoch, batch by batch: which positions of the order it loads. Pure and lazy.

Positions go to the ranks in turn: position p is rank p % world_size's. A global batch is `world_size * batch_size`
positions in a row, so every rank has `batch_size` of each, from wherever the epoch is begun or resumed. The order as a
whole knows nothing of ranks, hence another world size goes on in the same order.

Every rank has the same number of batches, always, or processes that train together would wait for one another forever.
So the samples that remain for the last global batch are, by choice,

    "short"   shared out: every rank's last batch is as short as the longest share needs
    "pad"     filled up to a full batch on every rank
    "drop"    left out

A rank whose share is smaller than its batch repeats samples of that batch. How many at the end of a batch are such
repeats is noted in `padding`: whoever leaves them out counts every sample exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, final

import numpy as np

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Order", "Share", "Slab"]

SLAB_SAMPLES = 2048  # positions are computed for many batches at a time: NumPy's calls cost the same for eight


class Order(Protocol):
    """A sequence of sample ids, computed where it is asked for."""

    @property
    def repeats(self) -> bool:
        """Whether a sample may come more than once."""

    def __len__(self) -> int: ...
    def at(self, positions: NDArray[np.int64], /) -> NDArray[np.int64]:
        """Give the ids at these positions."""


@final
@dataclass(frozen=True, slots=True)
class Slab:
    """Some batches in a row: their positions, and where each batch ends among them and in the epoch."""

    positions: NDArray[np.int64]
    sizes: tuple[int, ...]
    stops: tuple[int, ...]  # the epoch's samples consumed, by all ranks, once the batch is
    padding: int = 0  # of the last batch

    def batches(self) -> Iterator[tuple[slice, int, int]]:
        """Yield each batch's part of the slab, its stop and its padding."""
        at = 0
        for number, (size, stop) in enumerate(zip(self.sizes, self.stops, strict=True), 1):
            yield slice(at, at + size), stop, self.padding if number == len(self.sizes) else 0
            at += size


@final
@dataclass(frozen=True, slots=True)
class Share:
    """What one of `world_size` ranks loads of every epoch."""

    batch_size: int
    rank: int = 0
    world_size: int = 1
    last: Literal["short", "pad", "drop"] = "short"

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise UsageError("a batch holds at least one sample", got=self.batch_size)
        if not 0 <= self.rank < self.world_size:
            expected = "rank in [0, world_size)"
            raise UsageError("there is no such rank", got=f"rank {self.rank} of {self.world_size}", expected=expected)

    def check(self, lanes: int) -> None:
        """See that every rank can have lanes of its own."""
        if lanes % self.world_size:
            possible = [size for size in range(1, lanes + 1) if lanes % size == 0]
            raise UsageError(
                f"{lanes} lanes cannot be shared out evenly",
                got=f"world_size={self.world_size}",
                expected=f"one of {possible}",
                hint="choose such a number of ranks, or other lanes: shuffle=WindowShuffle(lanes=…)",
            )

    def batches(self, samples: int, start: int = 0) -> int:
        """Count the batches that are left of an epoch of which `start` samples are consumed."""
        whole, rest = divmod(max(samples - start, 0), self.batch_size * self.world_size)
        return whole + (rest > 0 and self.last != "drop")

    def stop(self, samples: int, start: int = 0) -> int:
        """Give the position before which the epoch ends: all its samples, but for those that are dropped."""
        dropped = (samples - start) % (self.batch_size * self.world_size) if self.last == "drop" else 0
        return max(samples - dropped, start)

    def slabs(self, samples: int, start: int = 0) -> Iterator[Slab]:
        """Yield the batches that are left of an epoch, many at a time."""
        step = self.batch_size * self.world_size
        whole = (samples - start) // step
        many = max(SLAB_SAMPLES // self.batch_size, 1)
        for batch in range(0, whole, many):
            count, begin = min(many, whole - batch), start + batch * step
            stops = tuple(range(begin + step, begin + count * step + 1, step))
            yield Slab(self._own(begin, stops[-1]), (self.batch_size,) * count, stops)
        begin = start + whole * step
        if begin < samples and self.last != "drop":
            size = self.batch_size if self.last == "pad" else -(-(samples - begin) // self.world_size)
            positions = self._own(begin, begin + size * self.world_size)
            real = int(np.searchsorted(positions, samples))
            yield Slab(self._filled(positions, real, samples), (size,), (samples,), size - real)

    def _own(self, start: int, stop: int) -> NDArray[np.int64]:
        """Give this rank's positions in [start, stop)."""
        return np.arange(start + (self.rank - start) % self.world_size, stop, self.world_size, dtype=np.int64)

    def _filled(self, positions: NDArray[np.int64], real: int, samples: int) -> NDArray[np.int64]:
        """Repeat positions of this rank where the epoch has no more: the batch's own, or the one that it had last."""
        if real:
            return np.resize(positions[:real], len(positions))
        had = max(-(-(samples - self.rank) // self.world_size), 0)
        return np.full(len(positions), (had - 1) * self.world_size + self.rank if had else self.rank % samples)
