"""A file that grows piece by piece under another name, and gets its own only when it is whole and lasting.

It sums itself while it is written, so that nobody reads it again to know its digest.
"""

from __future__ import annotations

import hashlib
import os
from typing import final

from penstock.storage.local import storage_error, sync_folder

__all__ = ["GrowingFile"]


@final
class GrowingFile:
    """Appends to `growing`; `finish` turns it into `path`, in the same file system."""

    def __init__(self, path: str, growing: str) -> None:
        self.path = path
        self.bytes = 0
        self._growing = growing
        self._hash = hashlib.sha256()
        try:
            self._file = open(growing, "wb", buffering=0)  # noqa: SIM115 - closed by finish or discard
        except OSError as error:
            raise storage_error(error, growing) from error

    def append(self, data: bytes) -> None:
        """Write data behind what is there."""
        view = memoryview(data)
        try:
            while view.nbytes:
                view = view[self._file.write(view) :]  # a full disk may first take a part
        except OSError as error:
            raise storage_error(error, self._growing) from error
        self._hash.update(data)
        self.bytes += len(data)

    @property
    def sha256(self) -> str:
        """Digest of everything appended."""
        return self._hash.hexdigest()

    def finish(self) -> None:
        """Make the content lasting, then the name."""
        try:
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._growing, self.path)
            sync_folder(os.path.dirname(self.path))
        except OSError as error:
            raise storage_error(error, self.path) from error

    def discard(self) -> None:
        """Close without a result."""
        self._file.close()
