"""Reads a file from its beginning to its end, a little here and a little there, in reads of one size.

Each read begins where something is wanted, and what lies behind it within the window costs nothing more. Far away the
window is large, so that walking a file is reading it through; on a disk it is small, and most of a file is never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from penstock.errors import SourceError
from penstock.ingest.source import shown
from penstock.storage.ranges import plan_reads

if TYPE_CHECKING:
    from penstock.storage.store import Store

__all__ = ["Windowed"]

_NEAR_BYTES = 16 << 10
_FAR_BYTES = 4 << 20


@final
class Windowed:
    """A file of a store."""

    def __init__(self, store: Store, name: str, size: int) -> None:
        self.name, self.size = name, size
        self._store = store
        self._window = _NEAR_BYTES if store.is_local else _FAR_BYTES
        self._start, self._held = 0, b""

    def read(self, offset: int, length: int) -> bytes:
        """Give some bytes."""
        if not self._start <= offset <= offset + length <= self._start + len(self._held):
            self._start, self._held = offset, self._fetched(offset, max(length, min(self._window, self.size - offset)))
        at = offset - self._start
        return self._held[at : at + length]

    def _fetched(self, offset: int, length: int) -> bytes:
        plan = plan_reads(np.zeros(1, np.int32), np.array([offset], np.int64), np.array([length], np.int64))
        block = np.empty(plan.block_bytes, np.uint8)
        for failure in self._store.begin([self.name], plan, block).failures():
            what, path = "the file ends before these bytes", shown(f"{self._store.place}/{self.name}")
            raise failure.error or SourceError(what, file=path, byte_range=(offset, offset + length))
        return block.tobytes()
