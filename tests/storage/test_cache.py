"""The cache: filled once and found from then on, as much as there is room for, by any process, and never wrong."""

import errno
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.errors import UsageError
from penstock.loader import Loader
from penstock.order import WindowShuffle
from penstock.storage import cached_files
from penstock.storage.cache import BLOCK_BYTES, FOOTER, Cache, Shelf
from penstock.storage.cached_files import CachedFiles
from penstock.storage.local import LocalStore
from penstock.storage.ranges import plan_reads
from penstock.transforms import RandomResizedCrop
from tests.datasets import folder, packed

SIZES = np.array([3 * BLOCK_BYTES + 17, 5, 0, BLOCK_BYTES, 2 * BLOCK_BYTES - 1], np.int64)
TOTAL = int(SIZES.sum())


class Counted:
    """A folder that counts the bytes that are read from it."""

    is_local, under_way_bytes = False, 0

    def statistics(self):
        return None

    def __init__(self, folder):
        self._store, self.place, self.read_bytes = LocalStore(str(folder)), str(folder), 0

    def begin(self, names, plan, block, *, ways=None, sizes=None):
        self.read_bytes += int(plan.length.sum())
        return self._store.begin(names, plan, block, ways=ways, sizes=sizes)

    def read(self, name):
        return self._store.read(name)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder, contents = tmp_path_factory.mktemp("data"), []
    for number, size in enumerate(SIZES.tolist()):
        contents.append(np.random.default_rng(number).integers(0, 256, size, np.uint8).tobytes())
        (folder / f"{number}.bin").write_bytes(contents[-1])
    return folder, contents


def opened(data, folder, size_bytes, digest="d" * 64):
    store = Counted(data[0])
    return store, CachedFiles(Cache(str(folder), size_bytes), store, digest, SIZES)


def read(cached, ranges):
    """Read ranges (file, offset, length); their bytes, or None where they did not arrive."""
    file, offset, length = (np.array(column, np.int64) for column in zip(*ranges, strict=True))
    plan = plan_reads(file.astype(np.int32), offset, length, gap_bytes=1000)
    block = np.zeros(plan.block_bytes, np.uint8)
    files, positions = np.unique(plan.file, return_inverse=True)
    within = plan.part(np.arange(len(plan)), file=positions.astype(np.int32))
    failures = cached.begin(files, [f"{name}.bin" for name in files], within, block).failures()
    assert failures == []
    return [block[start : start + size].tobytes() for start, size in zip(plan.start, length.tolist(), strict=True)]


def everything():
    return [(number, 0, size) for number, size in enumerate(SIZES.tolist()) if size]


@st.composite
def some_ranges(draw):
    def one():
        file = draw(st.sampled_from([0, 1, 3, 4]))
        begin = draw(st.integers(0, int(SIZES[file]) - 1))
        return file, begin, draw(st.integers(1, int(SIZES[file]) - begin))

    return [one() for _ in range(draw(st.integers(1, 6)))]


@given(reads=st.lists(some_ranges(), min_size=1, max_size=4), size_bytes=st.integers(0, TOTAL + 100))
def test_what_is_read_is_what_is_there_whatever_the_cache_keeps(data, tmp_path_factory, reads, size_bytes):
    store, cached = opened(data, tmp_path_factory.mktemp("cache"), size_bytes)
    for ranges in reads:
        expected = [data[1][file][begin : begin + size] for file, begin, size in ranges]
        assert read(cached, ranges) == expected
        assert read(cached, ranges) == expected
    assert store.read_bytes > 0


def test_all_is_fetched_once_and_found_from_then_on_by_others_too(data, tmp_path):
    store, cached = opened(data, tmp_path, TOTAL)
    read(cached, everything())
    assert (store.read_bytes, cached.shelf.statistics().hit_bytes) == (TOTAL, 0)
    read(cached, everything())
    assert (store.read_bytes, cached.shelf.statistics().hit_bytes) == (TOTAL, TOTAL)
    other_store, other = opened(data, tmp_path, TOTAL)
    read(other, everything())
    assert (other_store.read_bytes, other.shelf.statistics().missed_bytes) == (0, 0)


def test_of_data_twice_as_large_half_is_found_in_every_epoch(data, tmp_path):
    store, cached = opened(data, tmp_path, TOTAL // 2)
    read(cached, everything())
    for _ in range(3):
        before = store.read_bytes
        read(cached, everything())
        assert store.read_bytes - before <= TOTAL / 2


def test_a_block_that_was_changed_is_fetched_again(data, tmp_path):
    _, cached = opened(data, tmp_path, TOTAL)
    read(cached, everything())
    block = cached.shelf.path(0)
    with open(block, "r+b") as file:
        file.seek(1000)
        byte = file.read(1)
        file.seek(1000)
        file.write(bytes([byte[0] ^ 1]))
    assert read(cached, everything()) == [content for content in data[1] if content]
    assert cached.shelf.statistics().damaged == 1
    assert os.path.getsize(block) == BLOCK_BYTES + FOOTER.size


def test_a_block_that_was_cut_short_is_fetched_again(data, tmp_path):
    _, cached = opened(data, tmp_path, TOTAL)
    read(cached, everything())
    os.truncate(cached.shelf.path(BLOCK_BYTES), 100)
    assert read(cached, everything()) == [content for content in data[1] if content]


def test_a_full_disk_leaves_things_as_they_are(data, tmp_path, monkeypatch, caplog):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cached_files.os, "replace", full)
    _, cached = opened_quietly(data, tmp_path, monkeypatch)
    assert read(cached, everything()) == [content for content in data[1] if content]
    assert "takes no more: No space left on device" in caplog.text
    assert len(caplog.records) == 1


def opened_quietly(data, tmp_path, monkeypatch):
    """Open while renaming works, as it must for the share to be written down."""
    with monkeypatch.context() as patch:
        patch.setattr(cached_files.os, "replace", REPLACE)
        return opened(data, tmp_path, TOTAL)


REPLACE = os.replace


def test_room_is_taken_from_datasets_that_nobody_has_open(data, tmp_path):
    _, old = opened(data, tmp_path, TOTAL, digest="a" * 64)
    read(old, everything())
    _, new = opened(data, tmp_path, TOTAL, digest="b" * 64)
    assert new.shelf.kept_bytes == 0, "the old one is open"
    folder = old.shelf.folder
    del old
    _, again = opened(data, tmp_path, TOTAL, digest="b" * 64)
    assert again.shelf.kept_bytes == TOTAL
    assert not os.path.exists(folder)


def test_a_cache_made_smaller_lets_go_of_what_it_has_no_room_for(data, tmp_path):
    _, cached = opened(data, tmp_path, TOTAL)
    read(cached, everything())
    _, smaller = opened(data, tmp_path, BLOCK_BYTES)
    assert Shelf.summary(Cache(str(tmp_path)), "d" * 64)["filled_bytes"] == BLOCK_BYTES
    assert read(smaller, everything()) == [content for content in data[1] if content]


def test_a_url_is_no_folder_of_a_local_disk():
    with pytest.raises(UsageError, match="a cache is a folder on a local disk"):
        Cache.of("s3://bucket/cache")


def test_a_folder_that_cannot_be_one_is_refused(data, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="the cache cannot be used"):
        opened(data, tmp_path / "file", TOTAL)


FILL = """
import os, signal, sys
import penstock
from penstock.loader import Loader
from penstock.storage import cached_files
from penstock.transforms import RandomResizedCrop
if sys.argv[3] == "killed":
    def killed(growing, path):
        os.kill(os.getpid(), signal.SIGKILL)
    cached_files.os.replace, keep = killed, os.replace
    import penstock.storage.cache as cache
    cache.os = type("os", (), {**vars(os), "replace": staticmethod(keep)})
dataset = penstock.open(sys.argv[1], cache=sys.argv[2])
with Loader(dataset, batch_size=8, transforms=RandomResizedCrop(16), shuffle=False) as loader:
    print(sum(int(images.sum()) for images, _ in loader))
"""


def test_a_killed_process_leaves_nothing_that_is_wrong(tmp_path):
    def run(how):
        command = [sys.executable, "-c", FILL, str(packed()), str(tmp_path / "cache"), how]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert run("killed").returncode == -signal.SIGKILL
    whole = run("whole")
    assert whole.returncode == 0, whole.stderr
    assert run("again").stdout == whole.stdout
    cached = penstock.open(packed(), cache=tmp_path / "cache").stored.cached
    assert Shelf.summary(Cache(str(tmp_path / "cache")), penstock.open(packed()).digest)["missed_bytes"] > 0
    assert cached.shelf.kept_bytes > 0


@pytest.mark.parametrize("shuffle", ["full", WindowShuffle(lanes=4, window_bytes=24_000, block_bytes=6_000), False])
@pytest.mark.parametrize("size_bytes", [None, 60_000])
@pytest.mark.parametrize("made", [packed, folder])
def test_a_loader_gives_the_same_batches_through_a_cache(tmp_path, made, shuffle, size_bytes):
    def epoch(dataset):
        with Loader(dataset, batch_size=8, transforms=RandomResizedCrop(16), shuffle=shuffle) as loader:
            return [np.array(batch.images) for _ in range(2) for batch in loader]

    cached = pickle.loads(pickle.dumps(penstock.open(made(), cache=Cache(str(tmp_path), size_bytes))))
    assert all((one == other).all() for one, other in zip(epoch(cached), epoch(made()), strict=True))
    assert cached.stored.cached.shelf.statistics().hit_bytes > 0
