"""An arena: one piece of memory in equal slots, which are taken, filled, read by others, and given back.

Why one piece: samples that are read together are decoded in different batches, and a batch of samples that were read at
different times must still lie in one array. Why equal slots: whatever order they come back in, there are no gaps that
nothing fits into, so whoever waits for a slot gets one as soon as anybody gives one back.

The memory begins at a multiple of 4096, as reading past the page cache needs, and is in pages of 2 MiB where the system
has them: a read into it is then one request to the device instead of dozens, and no time goes into page faults.
"""

from __future__ import annotations

import mmap
import threading
from typing import TYPE_CHECKING, final

import numpy as np

from penstock.pipeline.queue import Closed
from penstock.pipeline.worker import blocked

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Arena", "arena_memory"]

HUGE_PAGE = 2 * 2**20


def arena_memory(size_bytes: int) -> NDArray[np.uint8]:
    """Allocate memory for an arena."""
    view = mmap.mmap(-1, size_bytes + HUGE_PAGE, **_PRIVATE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        view.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(view, np.uint8)
    start = -whole.ctypes.data % HUGE_PAGE
    return whole[start : start + size_bytes]


_PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}  # shared memory, the default, has no such pages


@final
class Arena:
    """Slots of `slot_bytes` in `memory`."""

    def __init__(self, memory: NDArray[np.uint8], slot_bytes: int) -> None:
        self.memory, self.slot_bytes = memory, slot_bytes
        self.slots = len(memory) // slot_bytes
        self._free = list(range(self.slots))
        self._changed = threading.Condition(threading.RLock())  # the collector may give a slot back in a `take`
        self._is_closed = False

    def take(self) -> int:
        """Take a slot, after waiting for one. Ends with `Closed` when the arena is closed."""
        with self._changed:
            if not self._free and not self._is_closed:
                with blocked("waits for memory"):
                    self._changed.wait_for(lambda: self._free or self._is_closed)
            if self._is_closed:
                raise Closed
            return self._free.pop()

    def slot(self, number: int) -> NDArray[np.uint8]:
        """Give a slot's memory."""
        return self.memory[number * self.slot_bytes : (number + 1) * self.slot_bytes]

    def give_back(self, number: int) -> None:
        """Say that nobody reads a slot any more."""
        with self._changed:
            self._free.append(number)
            self._changed.notify()

    def close(self) -> None:
        """End all waits."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
