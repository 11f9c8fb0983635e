"""States of the page cache: entered, proven, and called by their names."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench import cache_state
from penstock.errors import UsageError


@pytest.fixture
def files():
    """Some files on a disk: the system's own folder for temporary files may be memory."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        paths = [Path(folder) / str(number) for number in range(3)]
        for path in paths:
            path.write_bytes(os.urandom(300_000))
        (Path(folder) / "empty").write_bytes(b"")
        os.sync()
        yield cache_state.files_below(Path(folder))


def test_files_are_let_go_of_and_read_in_again(files):
    cache_state.enter("cold", files)
    assert cache_state.resident_share(files) == 0
    cache_state.enter("warm", files)
    assert cache_state.resident_share(files) == 1


def test_what_a_process_has_mapped_is_not_let_go_of_and_that_shows(files):
    cache_state.enter("warm", files)
    mapped = next(path for path in files if path.stat().st_size)
    with mapped.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        assert sum(view[::4096]) >= 0  # touched, so that the pages are in use
        cache_state.enter("cold", files)
        assert 0.3 < cache_state.resident_share(files) < 0.4
        gate = cache_state.gate(
            cache_state.proof("cold", "", resident=(0.33, 0.5), payload_bytes=900_000, device_read_bytes=600_000)
        )
    assert not gate.passed
    assert "mixed: 33.0% resident before" in gate.got


def test_nothing_has_no_share(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert cache_state.resident_share([tmp_path / "empty"]) is None


@pytest.mark.parametrize(
    ("asked", "before", "read", "found", "passes"),
    [
        ("warm", 1.0, 0, "warm", True),
        ("warm", 0.5, 0, "mixed", False),
        ("warm", 1.0, 500, "mixed", False),
        ("cold", 0.0, 1000, "cold", True),
        ("cold", 0.0, 100, "mixed", False),  # the pages were not in this cache, and yet nothing came from the device
        ("cold", 1.0, 0, "warm", False),
        ("disk", 0.0, 1000, "cold", True),
        ("dropped", 0.0, 990, "cold", True),
        ("limited", 0.2, 700, "mixed", True),
        ("cold", None, 1000, "not known", False),
        ("cold", 0.0, None, "not known", False),
    ],
)
def test_a_state_is_called_what_it_was(asked, before, read, found, passes):
    cache = cache_state.proof(asked, "", resident=(before, None), payload_bytes=1000, device_read_bytes=read)
    assert cache.found == found
    assert cache_state.gate(cache).passed == passes


@given(st.floats(0, 1), st.integers(0, 10**6), st.integers(0, 10**6))
def test_nothing_is_warm_and_cold(before, payload, read):
    assert cache_state.found(before, payload, read) in {"warm", "cold", "mixed"}


def test_a_state_that_is_none_and_a_drop_without_the_right_are_refused(files, monkeypatch, tmp_path):
    with pytest.raises(UsageError, match="no such state"):
        cache_state.enter("tepid", files)
    monkeypatch.setattr(cache_state, "DROP_CACHES", tmp_path / "none")
    with pytest.raises(UsageError, match="only root"):
        cache_state.enter("dropped", files)
