"""Mixing of 64-bit numbers: the one source of chance in penstock.

Shuffles and augmentation draws must be the same on every machine, NumPy version and thread count, so they cannot come
from a generator with hidden state. They come from a mixing function: `mix` sends every 64-bit number to another one
(it is a bijection) so that changing any bit of the input changes half the bits of the output. It is the finaliser of
the SplitMix64 generator (Steele, Lea and Flood, 2014, with Stafford's constants "13"), applied to a counter times the
golden ratio. `mix_key` folds several numbers into one key, each by one more round.

Everything here is arithmetic on uint64 modulo 2**64, which NumPy arrays do silently and NumPy scalars with a warning:
hence arrays throughout, of one element where need be.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["mix", "mix_key"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio, odd: multiples of it spread evenly
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit numbers, one to one; a new array."""
    out = values ^ (values >> SHIFTS[0])
    out *= FIRST
    out ^= out >> SHIFTS[1]
    out *= SECOND
    out ^= out >> SHIFTS[2]
    return out


def mix_key(*numbers: int) -> int:
    """Fold whole numbers of any size and sign, in this order, into one 64-bit key."""
    key = np.zeros(1, np.uint64)
    for number in map(index, numbers):  # NumPy's integers would overflow
        word = number % 2**64
        key = mix((key ^ np.uint64(word)) * GOLDEN + GOLDEN)
        # Numbers beyond 64 bits would otherwise share the key of their remainder.
        if (rest := number >> 64) not in {0, -1}:
            key = mix((key ^ np.uint64(rest % 2**64)) * GOLDEN + GOLDEN)
    return int(key[0])
