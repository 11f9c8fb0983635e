"""A place in an object store, to be written into.

An object appears whole when its upload ends, and not at all when it is cut short, so there are no other names and
nothing to sync. What grows here lies in a temporary file without a name, on this machine, until it is whole: parts are
sent from there and sent again where that is needed, so memory holds the few parts that are under way and not a shard,
and a kill leaves no file. Where temporary files are is for the environment to say ($TMPDIR).

Nothing in a store can be held: whatever a process leaves there stays when it is killed. So holding marks the place and
keeps nobody out; the journal sees to it that two who write do not mix.
"""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, final

from penstock.errors import StorageError
from penstock.storage.local import storage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.storage.object import ObjectStore

__all__ = ["GrowingObject", "ObjectPlace"]


@final
class ObjectPlace:
    """What begins with a URL."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store

    def is_empty(self) -> bool:
        """Whether nothing is below the URL, and there is no object that is called like it."""
        is_object = self.store.location.path != "" and self.store.size("") is not None
        return not is_object and next(self.store.list(), None) is None

    def lies_in(self, folder: str) -> bool:
        """Never inside a folder."""
        del folder
        return False

    def size(self, name: str) -> int | None:
        """How large an object is; None where there is none."""
        return self.store.size(name)

    def read(self, name: str) -> bytes | None:
        """Read a whole object; None where there is none."""
        try:
            return self.store.read(name)
        except StorageError as error:
            if error.errno == errno.ENOENT:
                return None
            raise

    def files(self, folder: str) -> dict[str, int] | None:
        """Give the sizes of what is below a name; what is further down has a slash in its name."""
        begins = f"{folder}/" if folder else ""
        return {found.name.removeprefix(begins): found.size for found in self.store.list(begins)} or None

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write an object, in place of any other of this name."""
        self.store.write(name, data)

    def create(self, name: str, data: bytes) -> None:
        """Write an object unless there is one; a store that cannot say "unless" just writes it."""
        self.store.create(name, data)

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects, one after another."""
        self.store.remove(names)

    def make_folder(self, folder: str) -> None:
        """Do nothing: names need no folder."""

    def remove_folder(self, folder: str) -> None:
        """Do nothing: there is none."""

    def grow(self, name: str, under: str) -> GrowingObject:
        """Begin an object, on this machine."""
        del under
        return GrowingObject(self.store, name)

    def hold(self, folder: str) -> _Mark:
        """Mark the place, so that whatever lies beside the mark is known for unfinished work."""
        self.store.write(f"{folder}/lock", b"")
        return _Mark()


@final
class _Mark:
    """A mark: there is nothing to let go of."""

    def close(self) -> None:
        """Do nothing."""


@final
class GrowingObject:
    """Appends to a temporary file; `finish` sends that."""

    def __init__(self, store: ObjectStore, name: str) -> None:
        self.bytes = 0
        self._store, self._name = store, name
        self._hash = hashlib.sha256()
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by finish or discard
        except OSError as error:
            raise _no_room(error) from error

    def append(self, data: bytes) -> None:
        """Write data behind what is there."""
        view = memoryview(data)
        try:
            while view.nbytes:
                view = view[self._file.write(view) :]  # a full disk may first take a part
        except OSError as error:
            raise _no_room(error) from error
        self._hash.update(data)
        self.bytes += len(data)

    @property
    def sha256(self) -> str:
        """Digest of everything appended."""
        return self._hash.hexdigest()

    def finish(self) -> None:
        """Send everything; the object is there when this returns."""
        with self._file:
            self._file.seek(0)
            self._store.send(self._name, self._file, self.bytes)

    def discard(self) -> None:
        """Close without a result."""
        with suppress(OSError):
            self._file.close()


def _no_room(error: OSError) -> StorageError:
    """Say which disk it is: not the one that anybody named."""
    found = storage_error(error, tempfile.gettempdir())
    reason = os.strerror(error.errno) if error.errno else str(error)
    found.hint = f"a shard is kept in a temporary file until it is sent: {reason}; name another folder with TMPDIR"
    return found
