"""The real servers of a test session: each started when the first test asks for it, ended with the session.

Tests share them, so each test takes names of its own (`its name/…`) in the one bucket, or below nginx's folder. A test
that ends a server, or counts what is in it, starts one itself: `with seaweedfs() as server`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock import testing

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["nginx", "rclone", "seaweedfs"]


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator[testing.S3Server]:
    """An S3 that does what S3 does."""
    with testing.seaweedfs() as server:
        yield server


@pytest.fixture(scope="session")
def rclone() -> Iterator[testing.S3Server]:
    """An S3 that answers ranged requests with 200."""
    with testing.rclone() as server:
        yield server


@pytest.fixture(scope="session")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[testing.WebServer]:
    """Plain HTTP over a folder that is empty at first; put files into `nginx.folder`."""
    with testing.nginx(tmp_path_factory.mktemp("served")) as server:
        yield server
