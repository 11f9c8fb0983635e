"""The place that a dataset is written into: a folder of a local disk, or what begins with a URL in an object store.

Whoever writes says what has to hold after a kill, and each kind of place has its own way to make it hold:

    write, create    a file is there whole or not at all, and lasting when the call returns
    grow             a file is made piece by piece, and gets its name only when it is whole and lasting
    remove           files are gone for good when the call returns, and go in the order given
    hold             nobody else writes here meanwhile, as far as the place can say so

Names are those of files below the place, with `/` between folders. Where there are no folders, making one does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import builtins
    from collections.abc import Sequence

    from penstock.storage.store import Store

__all__ = ["Growing", "Hold", "Place"]


class Growing(Protocol):
    """A file that grows. It sums itself meanwhile, so that nobody reads it again to know its digest."""

    bytes: int

    @property
    def sha256(self) -> str:
        """Digest of everything appended."""

    def append(self, data: builtins.bytes) -> None:
        """Write data behind what is there."""

    def finish(self) -> None:
        """Make the content lasting, then the name."""

    def discard(self) -> None:
        """Close without a result."""


class Hold(Protocol):
    """A place that is held. A killed process holds nothing."""

    def close(self) -> None:
        """Let go."""


class Place(Protocol):
    """Somewhere to write."""

    @property
    def store(self) -> Store:
        """What is here, to be read."""

    def is_empty(self) -> bool:
        """Whether nothing is here: no file, no folder with anything in it, and no file of the place's own name."""

    def lies_in(self, folder: str) -> bool:
        """Whether this is a local folder or is inside it."""

    def size(self, name: str) -> int | None:
        """How large a file is; None where there is none."""

    def read(self, name: str) -> bytes | None:
        """Read a whole file; None where there is none."""

    def files(self, folder: str) -> dict[str, int] | None:
        """Give the sizes of what is in a folder, by name in it. What is no plain file has a name that no file has.

        None: there is no such folder, or it is not for us to read.
        """

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write a file, in place of any other of this name."""

    def create(self, name: str, data: bytes) -> None:
        """Write a file; where the place can tell that there is one meanwhile, that one stays.

        Whoever must know reads it again.
        """

    def remove(self, names: Sequence[str]) -> None:
        """Remove files; those that are not there are none's loss."""

    def make_folder(self, folder: str) -> None:
        """Make a folder, if there is none."""

    def remove_folder(self, folder: str) -> None:
        """Remove a folder, which must be empty."""

    def grow(self, name: str, under: str) -> Growing:
        """Begin a file; until it is finished it may lie in the place under the other name."""

    def hold(self, folder: str) -> Hold:
        """Mark the place as being written into by a file `lock` in a folder, and keep others out where that works."""
