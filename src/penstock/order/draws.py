"""Augmentation draws: uniform numbers that depend on (seed, epoch, sample id, stream, number) and on nothing else.

Why: which crop a sample gets must not depend on which thread decoded it, in which batch it came, or how often the run
was interrupted. So there is no generator that hands out numbers one after another; a draw is computed from its name.

How: seed and epoch are folded into one key; key and sample id into one 64-bit counter base per sample; each (stream,
number) adds its own multiple of the golden ratio to that base, and the mixing function scrambles the sum. That is
SplitMix64 with a start of its own for every sample. The upper 53 bits become a float in [0, 1).

A stream is a transform's place among the transforms, so that adding a flip after a crop leaves the crops as they were.
The numbers are a promise, pinned by tests: pixels of an old run can be made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from penstock.order.mix import GOLDEN, mix, mix_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Draws"]

STREAM_DRAWS = 4096  # how many numbers one stream may hold before it would run into the next
TO_UNIT = 2.0**-53


@final
@dataclass(frozen=True, slots=True)
class Draws:
    """Draws for many samples at once: `uniform(count)` is [samples, count], a row per sample."""

    bases: NDArray[np.uint64]  # one counter start per sample
    stream: int = 0

    @classmethod
    def of(cls, seed: int, epoch: int, ids: NDArray[np.int64]) -> Draws:
        """Draws for these samples in this epoch."""
        key = np.uint64(mix_key(seed, epoch))
        return cls(mix(mix(ids.astype(np.uint64) * GOLDEN + key) ^ key))

    def for_stream(self, stream: int) -> Draws:
        """Give the same samples' draws of another stream: independent of every other stream's."""
        return Draws(self.bases, stream)

    def only(self, positions: NDArray[np.intp]) -> Draws:
        """Give the draws of some of the samples, by their positions."""
        return Draws(self.bases[positions], self.stream)

    def uniform(self, count: int, *, first: int = 0) -> NDArray[np.float64]:
        """Draw numbers first … first + count of the stream: floats in [0, 1), one row per sample."""
        if not 0 <= first <= first + count <= STREAM_DRAWS:
            raise ValueError(f"a stream has {STREAM_DRAWS} draws, asked for {first} to {first + count}")
        start = self.stream * STREAM_DRAWS + first + 1
        steps = np.arange(start, start + count, dtype=np.uint64) * GOLDEN
        words = mix(self.bases[:, None] + steps[None, :])
        words >>= np.uint64(11)
        return words.astype(np.float64) * TO_UNIT
