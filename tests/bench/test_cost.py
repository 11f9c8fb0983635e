"""What runs cost, read from /proc."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.bench.cost import Cost, Memory, cpu_seconds, cpus_of, processes_below, processes_of_group


def test_a_child_is_below_its_parent_and_its_parent_is_not_below_it():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in processes_below(os.getpid())
        assert processes_below(child.pid) == [child.pid]
        child.communicate(b"\n")


def test_a_group_has_its_leader_until_it_ends_collected_or_not():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as child:
        assert processes_of_group(child.pid) == [child.pid]
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert Path(f"/proc/{child.pid}").exists()
        assert processes_of_group(child.pid) == []


def test_processor_seconds_of_another_process_are_seen_from_outside():
    code = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        assert cpu_seconds(child.pid) >= 0.15
        child.communicate(b"\n")


def test_work_shows_as_processor_seconds_and_memory_as_memory():
    before = Cost.now()
    deadline = time.process_time() + 0.1
    while time.process_time() < deadline:
        pass
    after = Cost.now()
    assert 0.05 <= after.cpu_seconds - before.cpu_seconds < 5
    assert after.since(before).cpu_seconds == pytest.approx(after.cpu_seconds - before.cpu_seconds)
    found = Memory.now()
    assert found.bytes > 10**6
    assert (found.processes, found.threads) >= (1, 1)
    assert cpus_of([os.getpid()]) == os.sched_getaffinity(0)


def test_without_proc_nothing_is_measured(monkeypatch):
    monkeypatch.setattr("penstock.bench.cost.PROC", Path("/nowhere"))
    assert Cost.now() is None
    assert Memory.now() is None
    assert cpu_seconds(os.getpid()) is None
    assert processes_of_group(os.getpid()) == []
