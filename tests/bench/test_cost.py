"""What runs cost, read from /proc."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from penstock.bench.cost import Cost, processes_below


def test_a_child_is_below_its_parent_and_its_parent_is_not_below_it():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in processes_below(os.getpid())
        assert processes_below(child.pid) == [child.pid]
        child.communicate(b"\n")


def test_work_shows_as_processor_seconds_and_memory_as_memory():
    before = Cost.now()
    deadline = time.process_time() + 0.1
    while time.process_time() < deadline:
        pass
    after = Cost.now()
    assert 0.05 <= after.cpu_seconds - before.cpu_seconds < 5
    assert after.memory_bytes > 10**6


def test_without_proc_nothing_is_measured(monkeypatch):
    monkeypatch.setattr("penstock.bench.cost.PROC", Path("/nowhere"))
    assert Cost.now() is None
