"""Several datasets in given ratios: exactly so many samples of each per epoch, mixed uniformly.

Each part is gone through again and again, in a new shuffle each time, without regard to epochs: an epoch takes the next
`quota` samples of it. So within a part all samples come equally often, whether the epoch is shorter than the part (the
next epoch goes on where this one ends) or longer (samples come again). Which positions of the epoch belong to which
part is a shuffle of its own, new in each epoch.

Any position can be asked for by itself: it is shuffled to a place, the place says which part and the how-manieth sample
of its quota, the epoch how many were taken before, and that again which pass over the part and which place in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from penstock.order.mix import mix_key
from penstock.order.permutation import Permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MixtureOrder", "Part", "quotas"]

PLACES, PASS = range(2)  # what a key is for


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One of the datasets: where its samples begin, how many they are, how many of them an epoch takes."""

    first: int
    samples: int
    quota: int


@final
class MixtureOrder:
    """One epoch of a mixture."""

    repeats: Final = True

    def __init__(self, parts: tuple[Part, ...], *, seed: int, epoch: int) -> None:
        self._parts, self._seed, self._epoch = parts, seed, epoch
        self._ends = np.cumsum([part.quota for part in parts])
        self._places = Permutation(int(self._ends[-1]), mix_key(seed, epoch, PLACES))

    def __len__(self) -> int:
        return len(self._places)

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the ids at these positions."""
        places = self._places.at(positions)
        of_part = np.searchsorted(self._ends, places, side="right")
        ids = np.empty(len(positions), np.int64)
        for number in np.unique(of_part).tolist():
            part, where = self._parts[number], np.flatnonzero(of_part == number)
            taken = self._epoch * part.quota + places[where] - (self._ends[number] - part.quota)
            passes, within = np.divmod(taken, part.samples)
            for one in np.unique(passes).tolist():
                shuffle = Permutation(part.samples, mix_key(self._seed, number, one, PASS))
                ids[where[passes == one]] = part.first + shuffle.at(within[passes == one])
        return ids

    def __repr__(self) -> str:
        return f"MixtureOrder({self._parts}, seed={self._seed}, epoch={self._epoch})"


def quotas(ratios: tuple[float, ...], samples: int) -> list[int]:
    """Share out samples in these ratios as exactly as whole numbers can: the largest remainders are rounded up."""
    exact = np.array(ratios, np.float64) / sum(ratios) * samples
    shares = np.floor(exact).astype(np.int64)
    rest = np.argsort(shares - exact, kind="stable")[: samples - int(shares.sum())]
    shares[rest] += 1
    return [int(share) for share in shares]
