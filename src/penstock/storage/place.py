"""From a path or a URL to what can be done there: the store of a place, and single files wherever they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from penstock.storage.local import LocalStore, write_atomically
from penstock.storage.location import Location, is_url
from penstock.storage.object import ObjectStore

if TYPE_CHECKING:
    from penstock.storage.location import Access

__all__ = ["read_anywhere", "write_anywhere"]


def read_anywhere(path: str, access: Access | None) -> bytes:
    """Read a whole file."""
    folder, name = _split(path)
    store = ObjectStore(folder, access) if is_url(path) else LocalStore(folder)
    return store.read(name)


def write_anywhere(path: str, data: bytes | memoryview, access: Access | None) -> None:
    """Write a file that is there whole or not at all."""
    folder, name = _split(path)
    if is_url(path):
        ObjectStore(folder, access).write(name, data)
    else:
        write_atomically(path, data)


def _split(path: str) -> tuple[str, str]:
    """Cut off the name: of a path the last part, of a URL all but the store's root."""
    if not is_url(path):
        return os.path.split(path)
    location = Location.of(path)
    return location.root, location.path
