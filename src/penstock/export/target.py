"""What a form of export does: it takes samples one after another, and is finished, or given up."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Protocol, final

from penstock.errors import UsageError
from penstock.storage.local import storage_error
from penstock.storage.local_place import LocalPlace

if TYPE_CHECKING:
    import builtins
    import re
    from collections.abc import Sequence

    from penstock.export.samples import Exported
    from penstock.storage.growing import GrowingFile

__all__ = ["LargeFiles", "Target", "at_least_one", "each_once", "write_file"]

_PARTIAL = ".partial"  # added to the name of a file that grows


class Target(Protocol):
    """Where samples go."""

    files: int  # written so far, of those that hold pictures
    bytes: int  # of pictures, written so far

    def write(self, sample: Exported) -> None:
        """Take a sample."""

    def finish(self) -> None:
        """Write what can only be written when all samples are there."""

    def discard(self) -> None:
        """Leave no half of a file behind."""


@final
class LargeFiles:
    """Files of a folder that many samples go into, one file at a time. Each gets its name when it is whole."""

    def __init__(self, folder: str) -> None:
        self._place = LocalPlace(folder)
        self._growing: GrowingFile | None = None
        self._name = ""

    @property
    def size(self) -> int:
        """How large the file is that is being written; 0 where none is."""
        return 0 if self._growing is None else self._growing.bytes

    def append(self, name: str, data: builtins.bytes) -> None:
        """Write into the file that was begun, or begin one of this name."""
        if self._growing is None:
            self._place.make_folder("")
            self._name, self._growing = name, self._place.grow(name, name + _PARTIAL)
        self._growing.append(data)

    def finish(self) -> None:
        """End the file."""
        assert self._growing is not None
        self._growing.finish()
        self._growing = None

    def write(self, name: str, data: builtins.bytes) -> None:
        """Write a file in one piece."""
        self._place.make_folder("")
        self._place.write(name, data)

    def clear(self, pattern: re.Pattern[str]) -> None:
        """Remove files of one kind, so that none of an earlier export is taken for a part of this one."""
        self._place.remove([name for name in self._place.files("") or {} if pattern.fullmatch(name)])

    def discard(self) -> None:
        """Remove the file that was begun."""
        if self._growing is not None:
            self._growing.discard()
            self._place.remove([self._name + _PARTIAL])


def write_file(path: str, data: bytes, *, force: bool) -> None:
    """Write a file, with the folders that it lies in; over another one only by force."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if force else "xb") as file:
            file.write(data)
    except OSError as error:
        raise storage_error(error, path) from error


def at_least_one(name: str, given: int | None, default: int) -> int:
    """Take a number that may be left out."""
    if given is not None and given < 1:
        raise UsageError(f"{name} is at least 1", got=given)
    return default if given is None else given


def each_once(names: Sequence[str], path: str) -> None:
    """Refuse samples of one name, as datasets that are joined may have: in one place they would be one sample."""
    name, count = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
    if count > 1:
        hint = "export the datasets one by one"
        raise UsageError(f"{count} samples have one name", file=path, sample=name, hint=hint)
