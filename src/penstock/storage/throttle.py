"""Slowing down when a server says so, all requests of a store together.

A server that answers 503 or 429 has had too many requests, and whoever sends each of them again at once makes it worse.
So the first such answer opens a token bucket for all: half of the pace that there was. While the server is content the
pace grows again, and once it is several times what was too much, the bucket is put away.

Pure: times are given, nothing here looks at a clock.
"""

from __future__ import annotations

from collections import deque
from typing import final

__all__ = ["Throttle"]

WINDOW_SECONDS = 1.0  # over which the pace is measured
SLOWER = 0.5
FASTER = 1.25  # by the second, while nobody complains
ENDS_AT = 4.0  # times the pace after the cut
LEAST_PER_SECOND = 2.0


@final
class Throttle:
    """The pace of requests, and when the next one may go."""

    def __init__(self) -> None:
        self.per_second: float | None = None
        """So many requests go; None: as many as come."""
        self.cuts = 0
        """How often the pace was cut."""
        self._sent: deque[float] = deque()
        self._ends_at = 0.0
        self._cut_at = self._grown_at = float("-inf")
        self._next = 0.0  # when the next request may go

    def turn(self, now: float) -> float:
        """Take a turn: how long to wait before a request may go. Whoever has taken it must send."""
        self._grow(now)
        at = now
        if self.per_second is not None:
            at = max(now, self._next)
            self._next = at + 1 / self.per_second
        self._sent.append(at)
        while self._sent and self._sent[0] < now - WINDOW_SECONDS:
            self._sent.popleft()
        return at - now

    def complained(self, now: float) -> None:
        """Note that the server has had too many."""
        if now - self._cut_at < WINDOW_SECONDS:
            return  # about requests that were sent before the pace was cut
        pace = sum(1 for at in self._sent if now - WINDOW_SECONDS <= at <= now) / WINDOW_SECONDS
        if self.per_second is not None:
            pace = min(pace, self.per_second)
        self.per_second = max(SLOWER * pace, LEAST_PER_SECOND)
        self._ends_at = ENDS_AT * self.per_second
        self._cut_at = self._grown_at = now
        self._next = now + 1 / self.per_second
        self.cuts += 1

    def _grow(self, now: float) -> None:
        if self.per_second is None:
            return
        self.per_second *= FASTER ** max(now - self._grown_at, 0.0)
        self._grown_at = now
        if self.per_second > self._ends_at:
            self.per_second = None
