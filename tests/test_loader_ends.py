"""However a loader ends (break, exception, collector, interpreter exit, Ctrl-C), nothing is left behind."""

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from penstock.loader import Loader, Tuning
from penstock.pipeline import Pipeline
from penstock.transforms import RandomResizedCrop
from tests.datasets import COUNT, masked, packed
from tests.threads import settles_at, tasks

CROP = RandomResizedCrop(32)


@lru_cache(maxsize=1)
def warm_up():
    """Let libraries start the threads that they keep."""
    for dataset in (packed(), masked()):
        with Loader(dataset, batch_size=4, transforms=CROP, threads=2) as loader:
            list(loader)


def descriptors():
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def resident_bytes():
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    warm_up()
    gc.collect()
    before = tasks()
    yield
    gc.collect()
    assert settles_at(before)


def test_a_break_stops_the_threads_and_the_loader_can_go_on():
    with Loader(packed(), batch_size=4, transforms=CROP, threads=2) as loader:
        alone = tasks()
        for _ in loader:
            assert tasks() > alone
            break
        assert settles_at(alone)
        assert sum(len(batch.ids) for batch in loader) == COUNT


def test_an_exception_in_the_loop_stops_the_threads():
    loader = Loader(packed(), batch_size=4, transforms=CROP, threads=2)
    alone = tasks()

    def train():
        for _ in loader:
            raise RuntimeError("the training step failed")

    with pytest.raises(RuntimeError, match="training step"):
        train()
    assert settles_at(alone)


def test_an_error_of_a_stage_stops_the_threads_and_keeps_its_traceback(monkeypatch):
    loader = Loader(packed(), batch_size=4, transforms=CROP, threads=2)
    alone = tasks()

    def fail(*_, **__):
        raise MemoryError("no block")

    monkeypatch.setattr(type(loader.dataset), "begin", fail)
    with pytest.raises(MemoryError, match="no block"):
        list(loader)
    assert settles_at(alone)


def test_a_loader_that_is_dropped_in_the_middle_is_gone():
    loader = Loader(packed(), batch_size=4, transforms=CROP, threads=2)
    batches = iter(loader)
    next(batches)
    del loader, batches


def test_a_loader_in_a_cycle_is_collected():
    class Trainer:
        def __init__(self):
            self.loader = Loader(packed(), batch_size=4, transforms=CROP, threads=2)
            self.batches = iter(self.loader)
            self.itself = self

    trainer = Trainer()
    next(trainer.batches)
    del trainer


def test_two_iterations_at_a_time_do_not_disturb_each_other():
    with Loader(packed(), batch_size=4, transforms=CROP, shuffle=False) as loader:
        pairs = list(zip(loader, loader, strict=True))
    for one, other in pairs:
        assert np.array_equal(one.ids, other.ids)
        assert not np.array_equal(one.images, other.images)  # of different epochs


def test_closing_ends_iterations_under_way():
    loader = Loader(packed(), batch_size=4, transforms=CROP, threads=2)
    batches = iter(loader)
    next(batches)
    loader.close()
    assert list(batches) == []


def test_a_stage_that_hangs_is_named_after_the_deadline(monkeypatch):
    gate = threading.Event()
    loader = Loader(packed(), batch_size=4, transforms=CROP, threads=1, tuning=Tuning(deadline_seconds=0.2))
    monkeypatch.setattr(type(loader.dataset), "begin", lambda *_, **__: gate.wait(20))
    with pytest.raises(TimeoutError, match="penstock-read-0 works on item 0"):
        next(iter(loader))
    gate.set()
    for thread in threading.enumerate():
        if thread.name.startswith("penstock-") and thread.name != "penstock-requests":
            thread.join(10)


HANGING = """
import sys, threading
from penstock.dataset import Dataset
from penstock.loader import Loader, Tuning
from penstock.pipeline import Pipeline
from penstock.transforms import RandomResizedCrop
def hang(*_, **__):
    print("hangs", flush=True)
    threading.Event().wait()
Dataset.begin = hang
with Loader(sys.argv[1], batch_size=4, transforms=RandomResizedCrop(32), tuning=Tuning(deadline_seconds=60)) as loader:
    batches = iter(loader)
    next(batches)
"""


def test_ctrl_c_does_not_wait_for_a_read_that_hangs():
    with subprocess.Popen(
        [sys.executable, "-c", HANGING, str(packed())], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline()
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=90)
    assert time.monotonic() - began < 20
    assert process.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")


def test_two_hundred_loaders_leave_no_thread_no_descriptor_and_no_memory():
    def make(count):
        for number in range(count):
            dataset = masked() if number % 10 == 0 else packed()
            loader = Loader(dataset, batch_size=8, transforms=CROP, threads=2, seed=number)
            for batch in itertools.islice(loader, number % 3):
                assert len(batch.ids)
        gc.collect()

    make(20)  # whatever is allocated once
    before = tasks(), descriptors(), resident_bytes()
    make(200)
    assert settles_at(before[0])
    assert descriptors() <= before[1]
    assert resident_bytes() < before[2] + 30_000_000


LIVE = """
import sys
from penstock.loader import Loader, Tuning
from penstock.pipeline import Pipeline
from penstock.transforms import RandomResizedCrop
loader = Loader(sys.argv[1], batch_size=4, transforms=RandomResizedCrop(32), threads=2)
batches = iter(loader)
next(batches)
"""

SCRIPTS = {
    "exit": LIVE,
    "sys.exit": LIVE + "sys.exit(0)",
    "kept batches": LIVE + "kept = list(batches)",
    "thread": LIVE + "import threading; threading.Thread(target=lambda: list(batches)).start()",
    "fork": LIVE
    + """
import os
child = os.fork()
if child == 0:
    del batches, loader
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
next(batches)
""",
    "interrupt": """
import os, signal, sys
from penstock.loader import Loader, Tuning
from penstock.pipeline import Pipeline
from penstock.transforms import RandomResizedCrop
loader = Loader(sys.argv[1], batch_size=4, transforms=RandomResizedCrop(32), threads=2)
try:
    while True:
        for number, batch in enumerate(loader):
            print(number, flush=True)
except KeyboardInterrupt:
    import threading
    assert threading.active_count() == 1, threading.enumerate()
    print("interrupted", flush=True)
""",
}


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "interrupt"])
def test_a_process_with_a_live_loader_ends_cleanly(name):
    command = [sys.executable, "-W", "error", "-c", SCRIPTS[name], str(packed())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_loader_that_is_closed_just_as_an_iteration_begins_ends_it(monkeypatch):
    loader = Loader(packed(), batch_size=4, transforms=RandomResizedCrop(32))
    begin = Pipeline.__init__

    def closed_meanwhile(pipeline, *arguments, **options):
        begin(pipeline, *arguments, **options)
        loader.close()

    monkeypatch.setattr(Pipeline, "__init__", closed_meanwhile)
    assert list(loader) == []


def test_ctrl_c_ends_the_loop_and_the_process():
    command = [sys.executable, "-c", SCRIPTS["interrupt"], str(packed())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(5):
            assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.endswith("interrupted\n")


def test_ctrl_c_without_a_handler_ends_the_process_as_it_should():
    script = SCRIPTS["interrupt"].partition("except")[0] + "finally:\n    pass\n"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(packed())], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in err
