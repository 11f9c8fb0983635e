"""Reading byte ranges of files into one block; what fails is listed, and everything else is read all the same."""

import errno
import os
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


def read(paths, files, offsets, lengths, *, size=20_000, positions=None):
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


def test_no_descriptor_stays_open(paths):
    def count():
        return len(list(Path("/dev/fd").iterdir()))

    before = count()
    for _ in range(20):
        read([*paths, b"/nowhere"], [0, 1, 2, 3], [0, 0, 9999, 0], [10, 10, 10, 10])
    assert count() == before
