"""Room in the page cache: what it can keep goes through it, always the same files, and the rest past it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.local import DIRECT, GENEROUS
from penstock.storage.ranges import plan_reads
from penstock.storage.room import SHARE, Kept, room_bytes
from tests import folders

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


GB = 10**9
FREE = b"MemTotal:       99999999 kB\nMemAvailable:   10000000 kB\n"  # 10.24 GB
OLD = ("memory/", "memory.limit_in_bytes", b"cache 5\ntotal_cache 7\ntotal_rss %d\n")  # version 1
NEW = ("", "memory.max", b"anon %d\nfile 7\n")  # version 2


def room(tmp_path, cgroup, groups, *, version, meminfo=FREE):
    """The room where groups have limits and the programs in them use some memory: (limit, used) by group."""
    below, limit, stat = version
    files = {"proc/self/cgroup": cgroup, "proc/meminfo": meminfo}
    for group, (most, used) in groups.items():
        if most is not None:
            files[f"groups/{below}{group}/{limit}"] = str(most).encode() + b"\n"
        if used is not None:
            files[f"groups/{below}{group}/memory.stat"] = stat % used
    folders.write(tmp_path, {name: data for name, data in files.items() if data is not None})
    return room_bytes(str(tmp_path / "proc"), str(tmp_path / "groups"))


BOTH = pytest.mark.parametrize(
    ("cgroup", "version"),
    [(b"9:cpu:/elsewhere\n5:memory:/a/b\n", OLD), (b"0::/a/b\n", NEW)],
    ids=["version 1", "version 2"],
)


@BOTH
@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({}, 10_240_000_000),
        ({"a/b": (3 * GB, GB)}, 2 * GB),
        ({"a/b": (3 * GB, 4 * GB)}, 0),
        ({"a/b": (3 * GB, GB), "a": (2 * GB, 3 * GB // 2)}, GB // 2),  # the group around it has less left
        ({"a/b": ("max", GB), "a": (4 * GB, 0)}, 4 * GB),
        ({"a/b": ("max", GB), "a": ("max", GB), "": ("max", GB)}, 10_240_000_000),
        ({"a/b": (2**63 - 4096, GB)}, 10_240_000_000),  # how version 1 says "max"
        ({"": (GB, 0)}, GB),  # what a container sees of its own group is the root
        ({"a/b": (GB, None), "a": (2 * GB, 0)}, 2 * GB),  # a limit, and nobody says how much of it is used
        ({"elsewhere": (GB, 0)}, 10_240_000_000),
    ],
)
def test_the_room_is_what_the_tightest_group_around_this_process_has_left(tmp_path, cgroup, version, groups, expected):
    assert room(tmp_path, cgroup, groups, version=version) == expected


def test_where_both_versions_are_there_the_one_that_has_a_limit_counts(tmp_path):
    assert room(tmp_path, b"5:memory:/a\n0::/a\n", {"a": (GB, 0)}, version=OLD) == GB


@pytest.mark.parametrize("meminfo", [None, b"MemTotal: 5 kB\n"])
def test_there_is_no_room_where_the_system_does_not_say(tmp_path, meminfo):
    assert room(tmp_path, b"0::/\n", {}, version=NEW, meminfo=meminfo) == 0


def test_a_system_without_control_groups_has_room_all_the_same(tmp_path):
    assert room(tmp_path, None, {}, version=NEW) == 10_240_000_000
