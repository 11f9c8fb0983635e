"""Room in the page cache: what it can keep goes through it, always the same files, and the rest past it."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.local import DIRECT, GENEROUS
from penstock.storage.ranges import plan_reads
from penstock.storage.room import SHARE, Kept, room_bytes

sizes = st.lists(st.integers(1, 10**9), min_size=1, max_size=8)


@given(sizes, st.integers(0, 10**10), st.data())
def test_what_there_is_room_for_is_kept_and_all_else_goes_past_the_cache(sizes, room, data):
    kept = Kept.of(np.array(sizes, np.int64), room)
    file = data.draw(st.integers(0, len(sizes) - 1))
    offset = data.draw(st.integers(0, sizes[file] - 1))
    length = data.draw(st.integers(1, sizes[file] - offset))
    one = plan_reads(np.array([file], np.int32), np.array([offset]), np.array([length]))
    fits = sum(sizes[:file]) + offset + length <= int(SHARE * room) or sum(sizes) <= int(SHARE * room)
    assert kept.ways(one.file, one).tolist() == [GENEROUS if fits else DIRECT]


def test_without_room_everything_goes_past_the_cache():
    for room in (0, -5):
        kept = Kept.of(np.array([100, 100]), room)
        one = plan_reads(np.array([0], np.int32), np.array([0]), np.array([1]))
        assert kept.ways(one.file, one).tolist() == [DIRECT]


def test_the_room_is_no_more_than_the_memory_that_is_free():
    meminfo = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    total = int(meminfo["MemTotal"].split()[0]) * 1024
    assert 0 < room_bytes() <= total
