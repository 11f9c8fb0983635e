"""A store: bytes by name, below one place. A folder on a local disk is one, a bucket of an object store another.

Reading is begun and arrives. Who wants bytes gives a plan of reads (ranges.py) and a block of memory, and gets an
`Arrival` at once, on which to wait for the bytes, and for what went wrong. A local disk answers before that: its
arrivals have all their bytes from the beginning.

Names are those of files below the place, with `/` between folders.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from penstock.errors import StorageError
from penstock.storage.ranges import ReadPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.errors import PenstockError
    from penstock.types import StoreStatistics

__all__ = ["Arrival", "Arrived", "Cancelled", "Failure", "Store", "read_large"]


class Cancelled(Exception):  # noqa: N818  a signal to whoever waits, never seen outside
    """Nobody wants the bytes any more."""


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """A read of a plan that did not bring all its bytes."""

    read: int
    arrived: int  # bytes from its beginning that did arrive
    error: PenstockError | None  # None: the file ended early


class Arrival(Protocol):
    """Bytes that are under way into a block."""

    def failures(self) -> list[Failure]:
        """Wait until all bytes have arrived, and name the reads that failed. Ends with `Cancelled` after `cancel`."""

    def cancel(self) -> None:
        """Say that nobody wants the bytes any more."""


@final
@dataclass(frozen=True, slots=True)
class Arrived:
    """An arrival whose bytes are all there."""

    failed: list[Failure]

    def failures(self) -> list[Failure]:
        """Name the reads that failed."""
        return self.failed

    def cancel(self) -> None:
        """Do nothing: there is nothing to stop."""


class Store(Protocol):
    """Bytes by name."""

    @property
    def place(self) -> str:
        """Where it is, fit for printing."""

    @property
    def is_local(self) -> bool:
        """Whether its files are in the page cache of this machine once they are read."""

    @property
    def under_way_bytes(self) -> int:
        """How much may be on its way in memory that is not the caller's."""

    def statistics(self) -> StoreStatistics | None:
        """Tell what requests have come to in this process; None where there are none to speak of."""

    def begin(
        self,
        names: Sequence[str],
        plan: ReadPlan,
        block: NDArray[np.uint8],
        *,
        ways: NDArray[np.uint8] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> Arrival:
        """Begin to carry out a plan whose files are positions in `names`.

        Where `sizes` says how large each of them is, one that is not may be an error that says so.
        """

    def read(self, name: str) -> bytes:
        """Read a whole file."""

    def size(self, name: str) -> int | None:
        """How large a file is; None where there is none."""


def read_large(store: Store, name: str, size: int | None = None) -> memoryview:
    """Read a whole file that may be large: over a network in many requests, each short enough to be made again."""
    size = store.size(name) if size is None else size
    if size is None:
        raise StorageError(os.strerror(errno.ENOENT), file=f"{store.place}/{name}")
    block, one = np.empty(size, np.uint8), np.array([0], np.int64)
    plan = ReadPlan(np.array([0], np.int32), one, np.array([size], np.int64), one, one, one, size)
    for failure in store.begin([name], plan, block, sizes=[size]).failures():
        raise failure.error or StorageError("the file became shorter while it was read", file=f"{store.place}/{name}")
    return block.data
