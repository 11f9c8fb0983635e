"""Room in the page cache: what it can keep goes through it, always the same files, and the rest past it."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.local import DIRECT, GENEROUS
from penstock.storage.room import KEPT, room_bytes, ways_within


@given(st.lists(st.integers(0, 10**9), max_size=20), st.integers(0, 10**10))
def test_files_are_kept_from_the_first_on_as_far_as_there_is_room(sizes, room):
    ways = ways_within(np.array(sizes, np.int64), room)
    kept = int((ways == GENEROUS).sum())
    assert ways.tolist() == [GENEROUS] * kept + [DIRECT] * (len(sizes) - kept)
    assert sum(sizes[:kept]) <= KEPT * room
    assert kept == len(sizes) or sum(sizes[: kept + 1]) > KEPT * room


def test_the_room_is_no_more_than_the_memory_that_is_free():
    meminfo = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    total = int(meminfo["MemTotal"].split()[0]) * 1024
    assert 0 < room_bytes() <= total
