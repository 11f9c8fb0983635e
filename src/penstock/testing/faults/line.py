"""A line that carries so many bytes per second: bytes leave it one after another, each after the last has left.

    finish = line.reserve(count, ready)    may be delivered at `finish`, which is never before ready + count / rate

`Line` is pure arithmetic over times that the caller reads off its clock. One line serves all connections that share
it, in the order in which they reserve, so together they get its rate and no more, over any span of time: what was not
sent while nobody had anything to send is lost, as on a wire.

Timers wake late, by a millisecond or so, and a sender that counted from the moment it woke would lose that with each
piece. So one that continues counts from when its last piece was to be out: who had the next piece ready has lost
nothing and catches up.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Line", "Pace", "continued"]

LATE_SECONDS = 0.005  # what a timer may be late by; who comes later than that had nothing to send


class Line:
    """A line of one rate."""

    def __init__(self, bytes_per_second: float) -> None:
        self.bytes_per_second = bytes_per_second
        self._free = 0.0

    def reserve(self, count: int, ready: float) -> float:
        """Take the line's next free time for `count` bytes that were ready at `ready`; when the last of them is out."""
        self._free = max(self._free, ready) + count / self.bytes_per_second
        return self._free


def continued(finish: float, now: float) -> float:
    """Tell when the next piece was ready, of a sender whose last one was to be out at `finish`."""
    return max(finish, now - LATE_SECONDS)


class Pace:
    """One body on its way out by some lines at once: what one of them holds back, the others have carried already."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._finish: float | None = None
        self._clock = asyncio.get_running_loop().time

    async def wait_for(self, count: int) -> None:
        """Wait until the next `count` bytes are out; without a line to wait for, let others have their turn."""
        now = self._clock()
        ready = now if self._finish is None else continued(self._finish, now)
        self._finish = max((line.reserve(count, ready) for line in self._lines), default=now)
        await asyncio.sleep(max(0.0, self._finish - now))
