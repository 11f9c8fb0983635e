"""Reading byte ranges of files into one block; what fails is listed, and everything else is read all the same."""

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import _native

CONTENT = [bytes(np.random.default_rng(seed).integers(0, 256, 5000, dtype=np.uint8)) for seed in range(3)]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = os.fsencode(tmp_path_factory.mktemp("files"))
    names = [folder + b"/plain", folder + b"/no utf-8: \xff\xfe", folder + b"/third"]
    for name, content in zip(names, CONTENT, strict=True):
        Path(os.fsdecode(name)).write_bytes(content)
    return names


def read(paths, files, offsets, lengths, *, size=20_000, positions=None, way=_native.ORDINARY):
    block = np.full(size, 171, np.uint8)
    if positions is None:
        positions = np.cumsum([0, *lengths])[:-1]
    failed = _native.read_ranges(
        paths,
        np.array(files, np.int32),
        np.array(offsets, np.int64),
        np.array(lengths, np.int64),
        block,
        np.array(positions, np.int64),
        np.full(len(files), way, np.uint8),
    )
    return block, failed


@given(ranges=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5000), st.integers(0, 5000)), max_size=6))
def test_every_range_lands_where_it_was_asked_to(paths, ranges):
    ranges = [(file, start, min(length, 5000 - start)) for file, start, length in ranges]
    files, offsets, lengths = ([r[i] for r in ranges] for i in range(3))
    block, failed = read(paths, files, offsets, lengths, size=30_001)
    assert failed == []
    expected = b"".join(CONTENT[file][start : start + length] for file, start, length in ranges)
    assert block[: len(expected)].tobytes() == expected
    assert (block[len(expected) :] == 171).all()


def test_a_missing_file_is_reported_and_the_others_are_read(paths):
    block, failed = read([*paths, b"/nowhere/at/all"], [0, 3, 2], [0, 0, 10], [100, 100, 100])
    assert failed == [(1, errno.ENOENT, 0)]
    assert block[:100].tobytes() == CONTENT[0][:100]
    assert block[200:300].tobytes() == CONTENT[2][10:110]


def test_a_file_that_ends_early_is_reported_with_what_was_there(paths):
    block, failed = read(paths, [0, 1], [4990, 0], [100, 50])
    assert failed == [(0, 0, 10)]
    assert block[:10].tobytes() == CONTENT[0][4990:]
    assert block[100:150].tobytes() == CONTENT[1][:50]


def test_a_range_behind_the_end_is_an_early_end(paths):
    assert read(paths, [0], [9000], [10])[1] == [(0, 0, 0)]


def test_an_offset_beyond_what_files_can_have_fails_by_itself(paths):
    block, failed = read(paths, [0, 1], [2**63 - 1, 0], [10, 10])
    assert [position for position, _, _ in failed] == [0]
    assert block[10:20].tobytes() == CONTENT[1][:10]


def test_a_folder_cannot_be_read(tmp_path):
    assert read([os.fsencode(tmp_path)], [0], [0], [10])[1] == [(0, errno.EISDIR, 0)]


@pytest.mark.parametrize(
    ("files", "offsets", "lengths", "positions"),
    [
        ([0], [0], [10], [19_995]),  # behind the end of the block
        ([0], [0], [10], [-1]),
        ([0], [-1], [10], [0]),
        ([0], [0], [-1], [0]),
        ([7], [0], [10], [0]),  # no such path
        ([-1], [0], [10], [0]),
        ([0, 0], [0], [10], [0]),  # arrays of different lengths
        ([0], [0], [2**63 - 1], [1]),  # the sum of position and length leaves 64 bits
    ],
)
def test_a_range_that_cannot_be_is_refused_before_anything_is_read(paths, files, offsets, lengths, positions):
    with pytest.raises((ValueError, IndexError)):
        read(paths, files, offsets, lengths, positions=positions)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of 5 MB and a bit: large enough for the ways that large requests are done in."""
    content = np.random.default_rng(9).integers(0, 256, 5_000_123, dtype=np.uint8)
    path = tmp_path_factory.mktemp("large") / "file"
    path.write_bytes(content.tobytes())
    return os.fsencode(path), content


def drop_from_cache(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def aligned(size):
    whole = np.zeros(size + 4096, np.uint8)
    start = -whole.ctypes.data % 4096
    return whole[start : start + size]


@pytest.mark.parametrize("way", [_native.ORDINARY, _native.EXACT, _native.GENEROUS, _native.DIRECT])
@pytest.mark.parametrize("is_cached", [True, False])
@pytest.mark.parametrize(
    "where",
    [
        (0, 4096 * 512, 0),
        (4096 * 3, 4096 * 700, 4096),
        (4096 * 700, 4096 * 600, 0),  # beyond the end
        (1234, 2_000_000, 77),  # nothing is aligned: cannot go past the page cache, and comes all the same
    ],
)
def test_all_ways_bring_the_same_bytes(large, way, is_cached, where):
    (path, content), (offset, length, position) = large, where
    if not is_cached:
        drop_from_cache(path)
    block = aligned(6_000_000)
    there = content[offset : offset + length]
    failed = _native.read_ranges(
        [path],
        np.array([0], np.int32),
        np.array([offset], np.int64),
        np.array([length], np.int64),
        block,
        np.array([position], np.int64),
        np.array([way], np.uint8),
    )
    assert failed == ([] if len(there) == length else [(0, 0, len(there))])
    np.testing.assert_array_equal(block[position : position + len(there)], there)


def test_many_files_are_read_each_into_its_place(tmp_path):
    count, size = 300, 700
    contents = np.random.default_rng(2).integers(0, 256, (count, size), dtype=np.uint8)
    paths = [os.fsencode(tmp_path / f"{number:03d}") for number in range(count)]
    for path, content in zip(paths, contents, strict=True):
        Path(os.fsdecode(path)).write_bytes(content.tobytes())
        drop_from_cache(path)
    files = np.random.default_rng(3).permutation(count)
    Path(os.fsdecode(paths[files[200]])).unlink()
    block, failed = read(paths, files, [0] * count, [size] * count, size=count * size)
    assert failed == [(200, errno.ENOENT, 0)]
    found = np.delete(block.reshape(count, size), 200, axis=0)
    np.testing.assert_array_equal(found, contents[np.delete(files, 200)])


def test_no_descriptor_stays_open(paths):
    def count():
        return len(list(Path("/dev/fd").iterdir()))

    before = count()
    for _ in range(20):
        read([*paths, b"/nowhere"], [0, 1, 2, 3], [0, 0, 9999, 0], [10, 10, 10, 10])
    assert count() == before


@pytest.mark.parametrize("helpers", [0, 1, 2, 3])
def test_large_ranges_are_read_by_as_many_threads_as_the_system_gives(large, helpers):
    """The stacks of threads are made huge, and the memory that may be asked for such that only so many have room."""
    path, content = large
    size = 1 << 20
    code = f"""
import resource, sys
import numpy as np
from penstock import _native
block, numbers = np.zeros({4 * size}, np.uint8), np.arange(4, dtype=np.int64)
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + {helpers * 2 + 1} * 2**29  # each takes 2**30
resource.setrlimit(resource.RLIMIT_AS, (most, most))
where = numbers * {size}
ways = np.full(4, _native.ORDINARY, np.uint8)
failed = _native.read_ranges([{path!r}], np.zeros(4, np.int32), where, np.full(4, {size}), block, where, ways)
assert failed == [], failed
sys.stdout.buffer.write(block.tobytes())
"""
    limited = f"ulimit -s {2**20} && exec {shlex.quote(sys.executable)} -c {shlex.quote(code)}"
    done = subprocess.run(["sh", "-c", limited], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == content[: 4 * size].tobytes()
