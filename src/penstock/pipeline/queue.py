"""A bounded queue that gives items out in the order of their numbers, whatever the order in which they arrive.

Several threads of a stage finish their items in any order; the next stage, and in the end the consumer, must see them
in order. So every item has a number, `put` waits until the number lies within `depth` of the next one to be given out,
and `get` waits for exactly that next one. The next item is always admitted, so a full queue can never shut out the one
item that would drain it.

Ends: `finish(count)` says how many items there will be; `get` past them raises `Finished`. `close` is for everybody:
all present and future waits raise `Closed`. Waits without a timeout belong to threads of the pipeline and end by one
of these two; the consumer's wait has a deadline of its own, and goes in turns of a second, because a Ctrl-C that comes
when a wait is just about to begin does not interrupt it.
"""

from __future__ import annotations

import threading
import time
from typing import Any, final

__all__ = ["Closed", "Finished", "OrderedQueue"]

TURN_SECONDS = 1.0


class Closed(Exception):  # noqa: N818  a signal between threads, never seen outside
    """The pipeline is being taken down."""


class Finished(Exception):  # noqa: N818  likewise
    """All items have been given out; the argument is how many there were."""


@final
class OrderedQueue:
    """Numbered items between two stages, at most `depth` of them."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._items: dict[int, Any] = {}
        self._next = 0
        self._count: int | None = None
        self._is_closed = False
        self._taken = 0
        self._seen = 0  # sum over all takings of the items that lay ready
        # Reentrant, because the collector may close a queue in the middle of its own `put`.
        self._lock = threading.RLock()
        self._arrived = threading.Condition(self._lock)
        self._left = threading.Condition(self._lock)

    def put(self, number: int, item: Any) -> None:
        """Hand in an item, after waiting for room."""
        with self._lock:
            while number >= self._next + self._depth and not self._is_closed:
                self._left.wait()
            if self._is_closed:
                raise Closed
            self._items[number] = item
            if number == self._next:
                self._arrived.notify()

    def get(self, *, timeout_seconds: float | None = None) -> tuple[int, Any]:
        """Take the next item and its number; TimeoutError where a timeout is given and passes."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        with self._lock:
            while self._next not in self._items:
                if self._is_closed:
                    raise Closed
                if self._count is not None and self._next >= self._count:
                    raise Finished(self._count)
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError
                self._arrived.wait(None if left is None else min(left, TURN_SECONDS))
            if self._is_closed:
                raise Closed
            self._taken += 1
            self._seen += len(self._items)
            number = self._next
            self._next += 1
            self._left.notify_all()
            if self._next in self._items:
                self._arrived.notify()  # for another thread of the taking stage
            return number, self._items.pop(number)

    def finish(self, count: int) -> None:
        """Say that there will be `count` items in all."""
        with self._lock:
            self._count = count
            self._arrived.notify_all()

    def close(self) -> None:
        """End all waits and let go of what lies here."""
        with self._lock:
            self._is_closed = True
            self._items.clear()
            self._arrived.notify_all()
            self._left.notify_all()

    @property
    def waiting(self) -> int:
        """How many items lie here just now."""
        return len(self._items)

    @property
    def occupancy(self) -> float:
        """The share of the queue that was full on average when something was taken."""
        return self._seen / (self._taken * self._depth) if self._taken else 0.0
