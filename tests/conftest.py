"""For every test: hypothesis draws the same examples on every run, and the tests that say most come first.

Fixtures for those that ask: `seaweedfs`, `rclone` and `nginx`, the real servers of tests/servers.py, and `browser`, the
real browser of tests/browser.py.
"""

import signal

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import browser
from tests.servers import nginx, rclone, seaweedfs

__all__ = ["browser", "nginx", "rclone", "seaweedfs"]

# Whoever starts the tests in the background may have told them to ignore Ctrl-C, and their children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest.register_assert_rewrite("tests.ingest.conformance")  # it asserts on behalf of the tests that call it

FIRST = ("test_smoke.py", "test_architecture.py")

settings.register_profile(
    "penstock", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("penstock")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """If penstock does not stand up at all, or breaks its own plan, say so before anything else does."""
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes of folders opened in place go into a cache of the test's own, not into the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
