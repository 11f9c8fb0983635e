"""Samples drawn with given probabilities, one independent draw per position: some come often, some not at all.

A draw is a number in [0, 1) computed from the key and the position, and looked up among the running sums of the
weights. So any position can be asked for by itself, and an epoch may have any length. What it takes is the sums: eight
bytes per sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import numpy as np

from penstock.order.mix import GOLDEN, mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WeightedOrder"]

TO_UNIT = 2.0**-53


@final
class WeightedOrder:
    """`n` draws among the samples whose weights sum up, one after another, to `sums`."""

    repeats: Final = True

    def __init__(self, n: int, key: int, sums: NDArray[np.float64]) -> None:
        self._n, self._key, self._sums = n, np.uint64(key), sums

    def __len__(self) -> int:
        return self._n

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the ids at these positions."""
        words = mix(mix(positions.astype(np.uint64) * GOLDEN + self._key) ^ self._key)
        draws = (words >> np.uint64(11)).astype(np.float64) * (TO_UNIT * self._sums[-1])
        # A draw falls to the first sample whose sum is above it, so that a weight of nothing is never drawn; what
        # rounding lifts to the last sum itself falls to the last sample that has a weight.
        last = np.searchsorted(self._sums, self._sums[-1], side="left")
        ids: NDArray[np.int64] = np.minimum(np.searchsorted(self._sums, draws, side="right"), last)
        return ids

    def __repr__(self) -> str:
        return f"WeightedOrder({self._n} of {len(self._sums)}, key={int(self._key)})"
