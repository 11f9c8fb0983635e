"""However a concurrent iteration ends (break, exception, collector, exit, fork, Ctrl-C), nothing is left behind."""

import gc
import signal
import subprocess
import sys
import time

import pytest

from penstock.torch import ConcurrentLoader
from tests.test_architecture import ROOT
from tests.threads import settles_at, tasks
from tests.torch.items import AsyncItems, Items

BOTH = pytest.mark.parametrize("kind", [Items, AsyncItems])


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    before = tasks()
    yield
    gc.collect()
    assert settles_at(before)


@BOTH
def test_a_break_stops_the_threads_and_the_loader_can_go_on(kind):
    loader, alone = ConcurrentLoader(kind(1000), batch_size=4), tasks()
    for _ in loader:
        assert tasks() > alone
        break
    assert settles_at(alone)
    assert sum(len(batch) for batch in loader) == 1000


@BOTH
def test_an_exception_in_the_loop_stops_the_threads(kind):
    loader, alone = ConcurrentLoader(kind(1000), batch_size=4), tasks()

    def train():
        for _ in loader:
            raise RuntimeError("the training step failed")

    with pytest.raises(RuntimeError, match="training step"):
        train()
    assert settles_at(alone)


@BOTH
def test_an_error_of_an_item_stops_the_threads(kind):
    loader, alone = ConcurrentLoader(kind(1000, lambda index: 1 // (50 - index)), batch_size=4), tasks()
    with pytest.raises(ZeroDivisionError):
        list(loader)
    assert settles_at(alone)


@BOTH
def test_an_iteration_that_is_dropped_in_the_middle_is_gone(kind):
    alone = tasks()
    batches = iter(ConcurrentLoader(kind(1000), batch_size=4))
    next(batches)
    del batches
    assert settles_at(alone)


@BOTH
def test_an_iteration_in_a_cycle_is_collected(kind):
    class Trainer:
        def __init__(self):
            self.loader = ConcurrentLoader(kind(1000), batch_size=4)
            self.batches = iter(self.loader)
            self.itself = self

    alone, trainer = tasks(), Trainer()
    next(trainer.batches)
    del trainer
    gc.collect()
    assert settles_at(alone)


@BOTH
def test_a_hundred_iterations_leave_no_thread(kind):
    loader, alone = ConcurrentLoader(kind(1000), batch_size=4, concurrency=8), tasks()
    for number in range(100):
        for taken, _ in enumerate(loader):
            if taken == number % 3:
                break
    assert settles_at(alone)


LIVE = """
import asyncio, os, sys, threading
from penstock.torch import ConcurrentLoader
from tests.torch.items import AsyncItems, Items
kind = {"threads": Items, "loop": AsyncItems}[sys.argv[1]]
loader = ConcurrentLoader(kind(10_000), batch_size=4)
batches = iter(loader)
next(batches)
"""

ENDINGS = {
    "exit": "",
    "thread": "threading.Thread(target=lambda: list(batches)).start()",
    "fork, and the parent goes on": """
child = os.fork()
if child == 0:
    del batches, loader
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
next(batches)
""",
    "fork, and the child begins anew": """
child = os.fork()
if child == 0:
    assert sum(len(batch) for batch in loader) == 10_000
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""",
    "fork, and the child goes on where the parent is": """
from penstock.errors import UsageError
child = os.fork()
if child == 0:
    try:
        next(batches)
    except UsageError as error:
        assert "cannot be used in a child process" in str(error), error
        assert "start the iteration in the process that uses it" in str(error), error
        sys.exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
next(batches)
""",
}


@pytest.mark.parametrize("way", ["threads", "loop"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_with_a_live_iteration_ends_cleanly(ending, way):
    command = [sys.executable, "-W", "error", "-c", LIVE + ENDINGS[ending], way]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


LOOPING = """
try:
    while True:
        for number, batch in enumerate(loader):
            print(number, flush=True)
except KeyboardInterrupt:
    del batches
    assert threading.active_count() == 1, threading.enumerate()
    print("interrupted", flush=True)
"""

HANGING = """
class Hanging(Items):
    def __getitem__(self, index):
        print("hangs", flush=True)
        threading.Event().wait()
class AsyncHanging(AsyncItems):
    async def __getitem_async__(self, index):
        print("hangs", flush=True)
        await asyncio.Event().wait()
del batches
next(iter(ConcurrentLoader({"threads": Hanging, "loop": AsyncHanging}[sys.argv[1]](8))))
"""


@pytest.mark.parametrize("way", ["threads", "loop"])
def test_ctrl_c_ends_the_loop_and_its_threads(way):
    command = [sys.executable, "-c", LIVE + LOOPING, way]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(5):
            assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.endswith("interrupted\n")


@pytest.mark.parametrize("way", ["threads", "loop"])
def test_ctrl_c_does_not_wait_for_an_item_that_hangs(way):
    command = [sys.executable, "-c", LIVE + HANGING, way]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline()
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=90)
    assert time.monotonic() - began < 20
    assert process.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")
