"""A folder of a local disk, to be written into.

Content is synced before its name is, and names are synced before anything that speaks of them. The place is held with
flock on a file: a killed process loses that, so it is never stale.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING, final

from penstock.errors import UsageError
from penstock.storage.growing import GrowingFile
from penstock.storage.local import LocalStore, read_file, storage_error, sync_folder, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["LocalPlace"]


@final
class LocalPlace:
    """A folder, which need not be there yet."""

    def __init__(self, folder: str) -> None:
        self.store = LocalStore(folder)
        self._folder = folder

    def is_empty(self) -> bool:
        """Whether there is no such folder or nothing in it."""
        return not os.path.lexists(self._folder) or (os.path.isdir(self._folder) and not os.listdir(self._folder))

    def lies_in(self, folder: str) -> bool:
        """Whether this is a folder or is inside it."""
        inside, outside = os.path.realpath(self._folder), os.path.realpath(folder)
        return inside == outside or inside.startswith(outside.rstrip("/") + "/")

    def size(self, name: str) -> int | None:
        """How large a file is; None where there is none."""
        return self.store.size(name)

    def read(self, name: str) -> bytes | None:
        """Read a whole file; None where there is none."""
        try:
            return read_file(self._path(name))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(error, self._path(name)) from error

    def files(self, folder: str) -> dict[str, int] | None:
        """Give the sizes of what is in a folder; what is no plain file has a slash behind its name."""
        found: dict[str, int] = {}
        try:
            with os.scandir(self._path(folder)) as scan:
                for entry in scan:
                    is_plain = entry.is_file(follow_symlinks=False)
                    found[entry.name if is_plain else f"{entry.name}/"] = entry.stat().st_size if is_plain else 0
        except OSError:
            return None
        return found

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write a file, in place of any other of this name."""
        write_atomically(self._path(name), data)

    def create(self, name: str, data: bytes) -> None:
        """Write a file: nobody else does, while the place is held."""
        self.write(name, data)

    def remove(self, names: Sequence[str]) -> None:
        """Remove files, one after another, and then make that last."""
        try:
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(self._path(name))
            self._sync({os.path.dirname(name) for name in names})
        except OSError as error:
            raise storage_error(error, self._folder) from error

    def make_folder(self, folder: str) -> None:
        """Make a folder that lasts, if there is none."""
        try:
            os.makedirs(self._path(folder), exist_ok=True)
            self._sync({os.path.dirname(folder)})
        except OSError as error:
            raise storage_error(error, self._path(folder)) from error

    def remove_folder(self, folder: str) -> None:
        """Remove a folder, which must be empty."""
        try:
            os.rmdir(self._path(folder))
        except OSError as error:
            raise storage_error(error, self._path(folder)) from error

    def grow(self, name: str, under: str) -> GrowingFile:
        """Begin a file under another name, in the same file system."""
        return GrowingFile(self._path(name), self._path(under))

    def hold(self, folder: str) -> _Lock:
        """Lock the file `lock` in a folder; both are made where they are not there."""
        return _Lock(self._path(folder))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name) if name else self._folder

    def _sync(self, folders: Iterable[str]) -> None:
        for folder in folders:
            sync_folder(self._path(folder))


@final
class _Lock:
    """A file that is locked until closed, or until this process ends in whatever way."""

    def __init__(self, folder: str) -> None:
        try:
            os.makedirs(folder, exist_ok=True)
            self._handle = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise storage_error(error, folder) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            hint = "wait for it, or end it"
            raise UsageError("another process is packing into this folder", file=folder, hint=hint) from error

    def close(self) -> None:
        """Let go of the lock."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
