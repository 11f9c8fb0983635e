"""Take what a peer delivers, and look at it: shapes and types of every batch, pixels of the first, ids of all.

Nothing here may cost much, for the clock runs: ids are copied, shapes compared, and that is all after the first epoch.
What ids say is found out when the clock has stopped.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import DataError
from penstock.results import Gate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from penstock.bench.case import Case

__all__ = ["Taker", "checked", "digest"]

LEVEL_BATCHES = 16  # of the first epoch, whose mean level is taken: enough to notice black, swapped or shifted images
TELL_SECONDS = 0.5  # between two words on how far it is


def digest(ids: NDArray[np.int64]) -> str:
    """Digest a multiset of ids: the same for every order of the same ids, and for no other."""
    return hashlib.sha256(np.sort(ids).tobytes()).hexdigest()[:16]


def _levels(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Compute the mean level per colour of a batch in either layout."""
    channel = 1 if images.shape[1] == 3 else 3
    axes = tuple(axis for axis in range(4) if axis != channel)
    mean: NDArray[np.float64] = images.mean(axis=axes, dtype=np.float64)
    return mean


def checked(images: Any, case: Case) -> NDArray[np.uint8]:
    """Check the shape and the type of a batch's images; they as an array."""
    array = np.asarray(images)
    side = case.size
    if array.dtype != np.uint8 or array.shape[1:] not in {(3, side, side), (side, side, 3)}:
        raise DataError(
            "a batch", got=f"{array.dtype} {array.shape}", expected=f"uint8 of {side}x{side} RGB, either layout"
        )
    return array


class Taker:
    """Takes batches, and tells now and then how far it is."""

    def __init__(self, case: Case, *, has_pixels: bool, tell: Callable[[dict[str, Any]], None]) -> None:
        self._case, self._has_pixels, self._tell = case, has_pixels, tell
        self._told_at, self._samples = time.perf_counter(), 0
        self.epochs: list[list[NDArray[np.int64]]] = []
        self.levels: list[NDArray[np.float64]] = []
        self.counts: list[int] = []
        self.image_bytes = 0

    def begin(self) -> None:
        """Begin an epoch."""
        self.epochs.append([])

    def take(self, batch: Any) -> int:
        """Take one batch."""
        images, batch_ids = batch
        ids = np.array(batch_ids, np.int64).reshape(-1)  # copied: loaders recycle their buffers
        self.epochs[-1].append(ids)
        if self._has_pixels:
            array = checked(images, self._case)
            if len(array) != len(ids):
                raise DataError("a batch", got=f"{len(array)} images", expected=f"as many as ids, {len(ids)}")
            self.image_bytes += array.nbytes
            if len(self.levels) < LEVEL_BATCHES and len(self.epochs) == 1:
                self.levels.append(_levels(array))
                self.counts.append(len(array))
        self._samples += len(ids)
        now = time.perf_counter()
        if now - self._told_at >= TELL_SECONDS:
            self._tell({"samples": self._samples, "seconds": now - self._told_at})
            self._told_at, self._samples = now, 0
        return len(ids)

    def mean_levels(self) -> list[float] | None:
        """Give the mean level per colour of what was looked at."""
        if not self.levels:
            return None
        return [round(float(level), 2) for level in np.average(self.levels, axis=0, weights=self.counts)]

    def gates(self, *, are_whole: bool) -> list[Gate]:
        """Check the ids of all epochs."""
        count = len(self._case.files())
        expected = digest(np.arange(count, dtype=np.int64))
        delivered = [np.concatenate(ids) if ids else np.empty(0, np.int64) for ids in self.epochs]
        wrong = []
        for number, ids in enumerate(delivered):
            distinct = len(np.unique(ids))
            is_right = digest(ids) == expected if are_whole else distinct == len(ids)
            if not is_right or (len(ids) and not 0 <= ids.min() <= ids.max() < count):
                wrong.append(f"epoch {number}: {len(ids)} samples, {distinct} distinct")
        asked = f"all {count} samples exactly once in every epoch" if are_whole else "no sample twice within an epoch"
        found = [Gate(name="samples", passed=not wrong, got="; ".join(wrong[:3]), expected=asked)]
        sorted_ones = [n for n, ids in enumerate(delivered) if len(ids) > 8 and np.array_equal(ids, np.sort(ids))]
        said = "epochs in the order of the folder: " + ", ".join(map(str, sorted_ones)) if sorted_ones else ""
        found.append(Gate(name="shuffled", passed=not sorted_ones, got=said, expected="a shuffled epoch"))
        same = [n for n in range(1, len(delivered)) if len(delivered[n]) > 8 and _equal(delivered[n], delivered[n - 1])]
        said = f"epoch {same[0]} came in the order of the one before" if same else ""
        found.append(Gate(name="reshuffled", passed=not same, got=said, expected="another order in each epoch"))
        return found


def _equal(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    return len(one) == len(other) and np.array_equal(one, other)
