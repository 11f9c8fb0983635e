"""Objects of our own below a place, all of them removed at the end, whatever happens in between.

They lie in a folder with a name drawn for this run, so nothing that was there is touched. A name is noted before it is
written to, and an upload once the server has given it a number: also what failed halfway is removed.
"""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from penstock.bench.endpoint.asking import Asker
from penstock.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.storage.object import ObjectStore

__all__ = ["Scratch", "scratch"]

REMOVING_SECONDS = 20.0


@final
class Scratch:
    """A folder of our own in a store."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.folder = f"penstock-probe-{secrets.token_hex(6)}"
        self._names: list[str] = []
        self._uploads: list[tuple[str, str]] = []

    def name(self, short: str) -> str:
        """Give the name of an object in the folder, which will be removed."""
        name = f"{self.folder}/{short}"
        self._names.append(name)
        return name

    def note_upload(self, name: str, number: str) -> None:
        """Note an upload in parts, which will be ended."""
        self._uploads.append((name, number))

    def remove(self) -> None:
        """Remove all of it."""
        asker = Asker(self.store, time.monotonic() + REMOVING_SECONDS)
        for name, number in self._uploads:  # 404: it is ended already
            asker.ask("DELETE", name, query={"uploadId": number})
        self.store.remove(self._names)


@contextmanager
def scratch(store: ObjectStore) -> Iterator[Scratch]:
    """Have a folder for the length of a block."""
    made = Scratch(store)
    try:
        yield made
    finally:
        try:
            made.remove()
        except StorageError as error:
            what = "what was written for the probe could not be removed"
            raise StorageError(what, file=f"{store.place}/{made.folder}", got=error.what, hint="remove it") from error
