"""An allowance of bytes: who wants some waits until others have given back enough.

Queues bound how many batches are in flight, and that bounds their memory as long as batches are about equally large.
Where they are not, the allowance does: large ones wait until there is room for them. One alone is always let through,
whatever its size, so that nobody waits for ever.
"""

from __future__ import annotations

import threading
from typing import final

from penstock.pipeline.queue import Closed
from penstock.pipeline.worker import blocked

__all__ = ["Allowance"]


@final
class Allowance:
    """So many bytes, taken and given back by several threads."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes, self._taken = size_bytes, 0
        self._changed = threading.Condition()
        self._is_closed = False

    def take(self, size_bytes: int) -> None:
        """Take some, after waiting for them. Ends with `Closed` when the allowance is closed."""

        def is_free() -> bool:
            return self._is_closed or self._taken == 0 or self._taken + size_bytes <= self._size_bytes

        with self._changed:
            if not is_free():
                with blocked("waits for memory"):
                    self._changed.wait_for(is_free)
            if self._is_closed:
                raise Closed
            self._taken += size_bytes

    def give_back(self, size_bytes: int) -> None:
        """Give some back."""
        with self._changed:
            self._taken -= size_bytes
            self._changed.notify_all()

    def close(self) -> None:
        """End all waits."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
