"""What requests to a store have taken so far, and what follows: how large one should be, and when one is a straggler.

A request costs the time to its first byte, whatever it asks for, and then its bytes at the pace of one connection. So
one should take `LARGE` times as long for its bytes as for the first of them. Larger ones gain little, and make batches
wait for one another.

Some requests take many times as long as most: a server's disk, a lost packet. Whoever makes a second request for what
is late has, nearly always, the bytes from that one soon. Late is what takes `LATE` times as long as all but a
twentieth of requests did, each measured by what was to be expected of its size.

Pure: times are given, nothing here looks at a clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, final

import numpy as np

__all__ = ["Link", "Taken"]

LARGE = 2.0
LEAST_BYTES, MOST_BYTES = 512 * 1024, 8 * 2**20
LATE = 2.0
LEAST_LATE_SECONDS = 0.05
REMEMBERED = 256
ENOUGH = 24  # requests, to know anything
EACH = 16  # requests between two computations


class Taken(NamedTuple):
    """What one request took."""

    size_bytes: int
    first_byte_seconds: float
    seconds: float


@final
class Link:
    """The way to a store, as it has been lately."""

    def __init__(self) -> None:
        self._taken: deque[Taken] = deque(maxlen=REMEMBERED)
        self._noted = 0
        self.first_byte_seconds: float | None = None
        """Median time to the first byte; None before anything is known."""
        self.bytes_per_second: float | None = None
        """What one connection gives once it has begun, in the median."""
        self._slowest = 1.0  # time by what was to be expected, of all but a twentieth

    def note(self, taken: Taken) -> None:
        """Learn from a request."""
        self._taken.append(taken)
        self._noted += 1
        if self._noted >= ENOUGH and (self._noted - ENOUGH) % EACH == 0:
            self._learn()

    def _learn(self) -> None:
        sizes, first, whole = (np.array(numbers, np.float64) for numbers in zip(*self._taken, strict=True))
        self.first_byte_seconds = float(np.median(first))
        # What comes within a clock's tick says nothing of the pace; what is small, little.
        large = sizes >= min(64 * 1024, float(np.median(sizes)))
        self.bytes_per_second = float(np.median(sizes[large] / np.maximum(whole - first, 1e-6)[large]))
        expected = self.first_byte_seconds + sizes / self.bytes_per_second
        self._slowest = float(np.quantile(whole / expected, 0.95))

    @property
    def request_bytes(self) -> int:
        """How much one request should ask for, where more is wanted."""
        if self.first_byte_seconds is None or self.bytes_per_second is None:
            return 2 * LEAST_BYTES
        return int(np.clip(LARGE * self.first_byte_seconds * self.bytes_per_second, LEAST_BYTES, MOST_BYTES))

    def late_seconds(self, size_bytes: int) -> float | None:
        """After how long a request of this size is late; None before anything is known."""
        if self.first_byte_seconds is None or self.bytes_per_second is None:
            return None
        expected = self.first_byte_seconds + size_bytes / self.bytes_per_second
        return max(LATE * max(self._slowest, 1.0) * expected, LEAST_LATE_SECONDS)
