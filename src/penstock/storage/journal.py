"""A journal of finished pieces of work, so that a killed writer can go on where it stopped.

The journal knows nothing of what it keeps. It is a folder with a `plan` (bytes that say what the work is), a lock,
and pieces numbered from 0, each written atomically. A piece is what its writer says about itself; whoever writes one
must first have made lasting whatever the piece speaks of.

    plan           equal plans mean the same work: pieces may be kept. Another plan: the caller must decide
                   (see `Journal.plan`)
    000000, …      the pieces
    000000.tar, …  room for what a piece will speak of, while it grows
    *.partial      one of them, being written
    lock           held with flock while a writer is alive; a killed process loses it, so it is never stale

The folder lies inside the one that is being written. Nothing but files of these names is ever removed, and a folder
that holds anything else is not a journal: somebody's photographs may be called `packing` too.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, final

from penstock.errors import UsageError
from penstock.storage.local import read_file, storage_error, write_atomically

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["JOURNAL_NAME", "Journal", "foreign_names", "is_unfinished"]

JOURNAL_NAME = "packing"
_OWN_NAME = re.compile(r"lock|plan(\.partial)?|\d{6,}(\.partial|\.tar)?")


def is_unfinished(folder: str) -> bool:
    """Whether a folder holds a journal, so that what lies beside it is unfinished work.

    An empty journal, as a kill right after its making leaves it, counts only where nothing lies beside it.
    """
    try:
        names = os.listdir(os.path.join(folder, JOURNAL_NAME))
        return not foreign_names(folder) if names else os.listdir(folder) == [JOURNAL_NAME]
    except OSError:  # not there, no folder, or not for us to read
        return False


def foreign_names(folder: str) -> list[str]:
    """Name what no journal wrote where the folder's journal is or would be."""
    try:
        with os.scandir(os.path.join(folder, JOURNAL_NAME)) as scan:
            return sorted(entry.name for entry in scan if not _is_own(entry))
    except FileNotFoundError:
        return []


def _is_own(entry: os.DirEntry[str]) -> bool:
    return bool(_OWN_NAME.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False)


@final
class Journal:
    """The journal in a folder, locked for this process until closed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        try:
            os.makedirs(folder, exist_ok=True)
            self._lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise storage_error(error, folder) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            raise UsageError(
                "another process is packing into this folder", file=folder, hint="wait for it, or end it"
            ) from error

    @property
    def plan(self) -> bytes | None:
        """What the journal's work is; None where none was begun."""
        try:
            return read_file(os.path.join(self.folder, "plan"))
        except FileNotFoundError:
            return None

    def begin(self, plan: bytes) -> None:
        """Start new work: forget the pieces of any other."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, "plan"))  # first: pieces without a plan belong to nothing
        for name in self._own_names():
            if name != "lock":
                os.unlink(os.path.join(self.folder, name))
        write_atomically(os.path.join(self.folder, "plan"), plan)

    def pieces(self) -> list[bytes]:
        """All pieces from the first up to the first that is missing."""
        found: list[bytes] = []
        while os.path.exists(self._piece(len(found))):
            found.append(read_file(self._piece(len(found))))
        return found

    def add(self, number: int, piece: bytes) -> None:
        """Write piece `number`; it is lasting when this returns."""
        write_atomically(self._piece(number), piece)

    def remove(self) -> None:
        """Forget everything: the work is done and has been made lasting elsewhere.

        The plan goes last, so that until then whoever finds the rest can tell what it belonged to.
        """
        try:
            for name in sorted(self._own_names(), key=lambda name: name == "plan"):
                os.unlink(os.path.join(self.folder, name))
            os.rmdir(self.folder)
        except OSError as error:
            raise storage_error(error, self.folder) from error

    def close(self) -> None:
        """Let go of the lock."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _own_names(self) -> list[str]:
        with os.scandir(self.folder) as scan:
            return [entry.name for entry in scan if _is_own(entry)]

    def _piece(self, number: int) -> str:
        return os.path.join(self.folder, f"{number:06d}")
