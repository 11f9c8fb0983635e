"""From what a caller says, a path or a URL, to what is there: a store to read from, a place to write into, a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.storage.local import LocalStore, write_atomically
from penstock.storage.local_place import LocalPlace
from penstock.storage.location import Location, is_url
from penstock.storage.object import ObjectStore
from penstock.storage.object_place import ObjectPlace

if TYPE_CHECKING:
    from penstock.storage.location import Access
    from penstock.storage.place import Place

__all__ = ["place_at", "place_of", "read_anywhere", "store_at", "write_anywhere"]


def store_at(path: str, access: Access | None = None) -> LocalStore | ObjectStore:
    """Give what is at a path or a URL, to be read."""
    if is_url(path):
        return ObjectStore(path, access)
    if access is not None:
        raise UsageError("access is about object stores", file=_shown(path), expected="a URL such as s3://bucket/path")
    return LocalStore(path)


def place_of(store: LocalStore | ObjectStore) -> Place:
    """Give the place that a store reads from."""
    return LocalPlace(store.place) if isinstance(store, LocalStore) else ObjectPlace(store)


def place_at(path: str, access: Access | None = None) -> Place:
    """Give what is at a path or a URL, to be written into."""
    store = store_at(path, access)
    if isinstance(store, ObjectStore) and not store.lists:
        expected = "a folder here, or s3://, gs:// or az://"
        raise UsageError("a plain web server cannot be written into", file=path, expected=expected)
    return place_of(store)


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


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()
