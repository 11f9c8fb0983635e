"""The user's cache folder: small files that are dear to make or far away, and that anybody may delete at any time.

Indexes of folders opened in place are there, and copies of the indexes of datasets in object stores. Names say what the
content is, so nothing there is ever out of date. (But sizes of loose objects are those of the time when they were first
asked for.) Where the folder cannot be written to, things are made again.
"""

from __future__ import annotations

import logging
import os
import threading

from penstock.errors import StorageError
from penstock.storage.local import write_atomically

__all__ = ["SIZES", "keep", "user_cache"]

SIZES = "objects"  # the kind of what is kept of loose objects


def user_cache(kind: str) -> str:
    """Say where files of a kind are kept: $XDG_CACHE_HOME or ~/.cache, then penstock/KIND."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "penstock", kind)


def keep(path: str, data: bytes | memoryview, *, what: str) -> bool:
    """Write a file of the cache; whether that went well. `what` it is, is for the warning where it does not.

    Several processes or threads may keep the same: the last whole file wins.
    """
    mine = f"{path}.{os.getpid()}.{threading.get_ident()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomically(mine, data)
        os.replace(mine, path)
    except (StorageError, OSError) as error:
        logging.getLogger("penstock").warning("%s cannot be cached: %s", what, error)
        return False
    return True
