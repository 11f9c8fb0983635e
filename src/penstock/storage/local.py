"""Files on local disks: many ranges at once, whole files, and writes that appear whole or not at all.

This is the only door to the native `read_ranges`. The medium's errors leave here as StorageError, with the file, and
with what to do where that is known (full disk, permissions, too many open files).
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from penstock import _native
from penstock.errors import StorageError
from penstock.storage.store import Arrived, Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.storage.ranges import ReadPlan

__all__ = [
    "DIRECT",
    "EXACT",
    "GENEROUS",
    "ORDINARY",
    "LocalStore",
    "fill_block",
    "read_file",
    "read_start",
    "storage_error",
    "sync_folder",
    "write_atomically",
]

# Ways to read, see `fill_block`.
ORDINARY, EXACT, GENEROUS, DIRECT = _native.ORDINARY, _native.EXACT, _native.GENEROUS, _native.DIRECT

_HINTS = {
    errno.ENOSPC: "the disk is full: make room and run the same command again, it goes on where it stopped",
    errno.EDQUOT: "the quota is used up: make room and run the same command again, it goes on where it stopped",
    errno.EFBIG: "a file-size limit was reached (ulimit -f): raise it and run the same command again",
    errno.EACCES: "check the permissions",
    errno.EPERM: "check the permissions",
    errno.EROFS: "the file system is read-only",
    errno.EMFILE: "too many open files: raise the limit (ulimit -n)",
    errno.EIO: "the disk reports an error: check it",
}


def storage_error(error: OSError, file: str | bytes | None = None) -> StorageError:
    """Turn an error of the operating system into ours."""
    name = file if file is not None else error.filename
    text = os.fsdecode(name).encode("utf-8", "backslashreplace").decode() if name is not None else None
    reason = os.strerror(error.errno) if error.errno else str(error)
    found = StorageError(reason, file=text, hint=_HINTS.get(error.errno or 0))
    found.errno = error.errno
    return found


def fill_block(
    paths: Sequence[bytes], plan: ReadPlan, block: NDArray[np.uint8], *, ways: NDArray[np.uint8] | None = None
) -> list[tuple[int, int, int]]:
    """Carry out a plan whose files are positions in `paths`.

    `ways` says for each read how bytes come that the page cache does not have: through it, as the kernel sees fit
    (ORDINARY, also the default), or nothing else (EXACT), or with some bytes around (GENEROUS: in large requests, for
    data that is wanted in whole); or past it (DIRECT: for data that it has no room for; such reads must be aligned to
    4096).
    Gives (read, errno, bytes read) of the reads that failed; errno 0: the file ended early.
    """
    ways = np.full(len(plan), ORDINARY, np.uint8) if ways is None else ways
    return _native.read_ranges(paths, plan.file, plan.offset, plan.length, block, plan.position, ways)


@final
@dataclass(frozen=True, slots=True)
class LocalStore:
    """A folder of a local disk."""

    place: str
    is_local: ClassVar[bool] = True
    under_way_bytes: ClassVar[int] = 0

    def statistics(self) -> None:
        """Tell nothing: a disk is asked by system calls, and the loader counts those."""

    def begin(
        self,
        names: Sequence[str],
        plan: ReadPlan,
        block: NDArray[np.uint8],
        *,
        ways: NDArray[np.uint8] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> Arrived:
        """Carry out a plan whose files are positions in `names`: the disk answers at once, so nothing is under way."""
        del sizes  # to ask for them would cost as much as reading
        paths = [os.fsencode(self.path(name)) for name in names]
        return Arrived(
            [
                Failure(read, arrived, storage_error(OSError(number, ""), paths[plan.file[read]]) if number else None)
                for read, number, arrived in fill_block(paths, plan, block, ways=ways)
            ]
        )

    def read(self, name: str) -> bytes:
        """Read a whole file."""
        path = self.path(name)
        try:
            return read_file(path)
        except OSError as error:
            raise storage_error(error, path) from error

    def size(self, name: str) -> int | None:
        """How large a file is; None where there is none."""
        path = self.path(name)
        return os.path.getsize(path) if os.path.exists(path) else None

    def path(self, name: str) -> str:
        """Say where a file is."""
        return os.path.join(self.place, name)


def read_file(path: str | bytes) -> bytes:
    """Read a whole file: one open, one read of the size that fstat gives, one close."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(handle).st_size
        data = os.read(handle, size + 1)  # one byte more: end of file is seen at once, and so is growth
        if len(data) == size:
            return data
        pieces = [data]  # larger than one read gives (2 GiB), growing, or without a size (a pipe)
        while pieces[-1]:
            pieces.append(os.read(handle, 1 << 24))
        return b"".join(pieces)
    finally:
        os.close(handle)


def read_start(path: str | bytes, length: int) -> bytes:
    """Read the first bytes of a file, at most `length`."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(handle, length)
    finally:
        os.close(handle)


def write_atomically(path: str, data: bytes | memoryview) -> None:
    """Write a file that is there whole or not at all, also after a power cut.

    Temporary name, sync, rename, sync of the folder.
    """
    temporary = f"{path}.partial"
    try:
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            with suppress(OSError):  # the error being raised says more than one about its remains
                os.unlink(temporary)
            raise
        sync_folder(os.path.dirname(path))
    except OSError as error:
        raise storage_error(error, path) from error


def sync_folder(path: str) -> None:
    """Make renames and removals inside a folder last."""
    handle = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some network file systems know no such thing
            raise
    finally:
        os.close(handle)
