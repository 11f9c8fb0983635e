"""Datasets in the real object stores of a test session, and access to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.storage.location import Access, Requests
from penstock.storage.object import ObjectStore

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from penstock.testing.servers import S3Server

# Against servers on loopback what has not come after a second will not come.
IMPATIENT = Requests(attempt_seconds=1.0, deadline_seconds=20.0)


def allow(monkeypatch: pytest.MonkeyPatch, server: S3Server) -> None:
    """Put the server's keys where they belong: into the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret)


def access(endpoint: str) -> Access:
    """Access to a server on loopback."""
    return Access(endpoint=endpoint, requests=IMPATIENT)


def uploaded(server: S3Server, folder: Path, name: str) -> str:
    """Put a packed dataset into the server's bucket; the URL."""
    return put(server, folder, name, last="penstock.json")


def put(server: S3Server, folder: Path, name: str, *, last: str | None = None) -> str:
    """Put the files of a folder into the server's bucket, unless the last of them is there; the URL."""
    url = f"s3://{server.bucket}/{name}"
    store = ObjectStore(url, access(server.endpoint))
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    if store.size(last or files[-1]) is None:
        for file in files:
            store.write(file, (folder / file).read_bytes())
    return url
