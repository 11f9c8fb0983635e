"""Control groups, in trees of files that look like both versions of the interface."""

from __future__ import annotations

import os

import pytest

from penstock.bench import groups
from penstock.errors import UsageError


@pytest.fixture
def first(tmp_path):
    for controller in ("memory", "blkio"):
        (tmp_path / controller).mkdir()
        (tmp_path / controller / "cgroup.procs").write_text("")
    return tmp_path


@pytest.fixture
def second(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpu io memory\n")
    (tmp_path / "cgroup.subtree_control").write_text("cpu")
    return tmp_path


def settings(folder):
    """What is written into a group; a plain folder keeps it, and wants it removed before it goes."""
    found = {path.name: path.read_text() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    return found


def test_a_small_memory_and_a_slow_disk_by_the_first_version(first, tmp_path):
    with groups.limited(10**8, root=first) as folder:
        assert folder.parent.name == "memory"
        assert settings(folder) == {"memory.limit_in_bytes": "100000000"}
    assert not folder.exists()
    number = os.stat(tmp_path).st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    with groups.disk(tmp_path, root=first) as folder:
        assert settings(folder) == {
            "blkio.throttle.read_bps_device": f"{device} 150000000",
            "blkio.throttle.read_iops_device": f"{device} 120",
        }


def test_the_same_by_the_second_version(second, tmp_path):
    with groups.limited(10**8, root=second) as folder:
        assert settings(folder) == {"memory.max": "100000000"}
    assert (second / "cgroup.subtree_control").read_text() == "+memory"
    with groups.disk(tmp_path, groups.Disk(1, 2), root=second) as folder:
        assert settings(folder)["io.max"].endswith("rbps=1 riops=2")


def test_a_group_goes_whatever_happens_in_it(first):
    def fail():
        with groups.limited(10**8, root=first) as folder:
            settings(folder)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [path.name for path in (first / "memory").iterdir()] == ["cgroup.procs"]


def test_without_control_groups_nothing_is_limited_and_it_is_said_what_lacks(tmp_path):
    assert groups.lacking("memory", tmp_path) == f"control groups, with memory in {tmp_path}, and to be root"
    with pytest.raises(UsageError, match="to be root"), groups.limited(10**8, root=tmp_path):
        pass
