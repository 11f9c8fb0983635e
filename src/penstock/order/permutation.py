"""A uniform shuffle of [0, n) that needs no array: `Permutation(n, key).at(positions)` computes just those ids.

Why: an epoch over 10**9 samples must start at once and may not cost 8 GB in every process; a resumed epoch must start
in its middle as quickly as at its beginning.

How: a keyed permutation cipher. Write a position as two digits, position = left * columns + right, with `rows` and
`columns` both near the square root of n. A round adds to one digit a keyed hash of the other, modulo its range; that
can be undone, so rounds of it are a permutation of [0, rows * columns), whatever the hash (a Feistel network with
modular addition, Black and Rogaway 2002). The few values of [n, rows * columns), fewer than one row, are walked:
encrypt again until the value falls below n. As the cipher is a permutation of the larger set, this ends, and it makes
a permutation of the smaller one. Ten rounds are two and a half times what theory needs to make it look random.

Small n (up to 65,536) are sorted by keyed hashes instead: every order is then equally likely, which for a handful of
samples no cipher of this kind can promise, and the table is at most half a megabyte.

Warning: these numbers are a promise. The order of a (n, key) is pinned by tests and never changes, since a run is
resumed by its position in it.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Final, final

import numpy as np

from penstock.errors import UsageError
from penstock.order.mix import GOLDEN, mix, mix_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_SAMPLES", "Permutation"]

MAX_SAMPLES = 2**48
SORTED_SAMPLES = 2**16  # up to here the order is a sorted table
ROUNDS = 10
SPAN = 2**16  # ids computed at a time, so that the temporaries of a long slice stay in the cache


@final
class Permutation:
    """A shuffle of [0, n) decided by `key`; a slice of it is an array of sample ids."""

    repeats: Final = False

    def __init__(self, n: int, key: int) -> None:
        if not 0 <= n <= MAX_SAMPLES:
            raise UsageError("a shuffle has between 0 and 2**48 samples", got=n)
        self._n = n
        self._key = key
        self._table: NDArray[np.int64] | None = None
        if n > SORTED_SAMPLES:
            columns = isqrt(n - 1) + 1
            self._columns = np.uint64(columns)
            self._rows = np.uint64(-(-n // columns))
            self._round_keys = [np.uint64(mix_key(key, n, number)) for number in range(ROUNDS)]

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, span: slice) -> NDArray[np.int64]:
        return self.at(np.arange(*span.indices(self._n), dtype=np.int64))

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the ids at these positions, each in [0, n)."""
        if self._n <= SORTED_SAMPLES:
            return self._sorted()[positions]
        ids = np.empty(len(positions), np.int64)
        for begin in range(0, len(positions), SPAN):
            part = slice(begin, begin + SPAN)
            ids[part] = self._encrypt(positions[part].astype(np.uint64))
        return ids

    def __repr__(self) -> str:
        return f"Permutation({self._n}, key={self._key})"

    def _sorted(self) -> NDArray[np.int64]:
        if self._table is None:
            key = np.uint64(mix_key(self._key, self._n))
            hashes = mix(mix(np.arange(1, self._n + 1, dtype=np.uint64) * GOLDEN + key) ^ key)
            self._table = np.argsort(hashes, kind="stable").astype(np.int64)
        return self._table

    def _encrypt(self, positions: NDArray[np.uint64]) -> NDArray[np.uint64]:
        values = self._rounds(positions)
        n = np.uint64(self._n)
        while (outside := np.flatnonzero(values >= n)).size:
            values[outside] = self._rounds(values[outside])
        return values

    def _rounds(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = np.divmod(values, self._columns)
        for number, round_key in enumerate(self._round_keys):
            if number % 2:
                left += _below(mix(right * GOLDEN + round_key), self._rows)
                left -= self._rows * (left >= self._rows)
            else:
                right += _below(mix(left * GOLDEN + round_key), self._columns)
                right -= self._columns * (right >= self._columns)
        left *= self._columns
        left += right
        return left


def _below(hashes: NDArray[np.uint64], bound: np.uint64) -> NDArray[np.uint64]:
    """Scale hashes to [0, bound) without a division: the upper half of (upper 32 bits * bound). `bound` is < 2**25."""
    hashes >>= np.uint64(32)
    hashes *= bound
    hashes >>= np.uint64(32)
    return hashes
