"""Lists in JSON, also compressed by gzip."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

from penstock.errors import SourceError
from penstock.ingest.source import shown
from penstock.storage.local import read_file, storage_error

__all__ = ["is_json", "read_json"]


def is_json(path: str) -> bool:
    """Whether a file is JSON by its name."""
    return path.lower().endswith((".json", ".json.gz"))


def read_json(path: str) -> Any:
    """Read a whole file of JSON."""
    try:
        data = read_file(path)
        return json.loads(gzip.decompress(data) if path.lower().endswith(".gz") else data)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise SourceError(f"the list cannot be unpacked: {error}", file=shown(path)) from error
        raise storage_error(error, path) from error
    except (ValueError, EOFError, zlib.error, RecursionError) as error:
        raise SourceError(f"the list is not JSON: {error}", file=shown(path)) from error
