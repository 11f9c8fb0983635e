"""Loose objects for tests: the files of a folder, put into a bucket under their own names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import penstock
from penstock.storage.object import ObjectStore
from tests.folders import content

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from penstock.testing import S3Server


class Bucket:
    """A place in the bucket of a server, and how to get at it."""

    def __init__(self, server: S3Server, place: str, patch: pytest.MonkeyPatch) -> None:
        patch.setenv("AWS_ACCESS_KEY_ID", server.access_key)
        patch.setenv("AWS_SECRET_ACCESS_KEY", server.secret)
        self.access = penstock.Access(endpoint=server.endpoint)
        self.root, self.bucket = f"s3://{server.bucket}/{place}", f"s3://{server.bucket}"
        self.place = place
        self.store = ObjectStore(self.root, self.access)

    def put(self, folder: Path) -> list[str]:
        """Put the files of a folder there; their names."""
        files = content(folder)
        for name, data in files.items():
            self.store.write(name, data)
        return sorted(files)

    def open(self, keys: list[str], at: Path, **options: object) -> penstock.Dataset:
        """Open objects by an array of keys, as others write it."""
        at.write_text(json.dumps(keys))
        return penstock.open(at, **{"root": self.root, "access": self.access, **options})
