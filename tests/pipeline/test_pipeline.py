"""The pipeline: order, bounds, errors in their place, and nothing left behind however it ends."""

import gc
import itertools
import subprocess
import sys
import threading
import time
import traceback
import weakref
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StalledError, UsageError
from penstock.pipeline import Pipeline, Stage
from penstock.pipeline.queue import OrderedQueue
from penstock.pipeline.worker import Worker

DEADLINE_SECONDS = 20


def pipeline_threads():
    """Those that there are, without the one of requests: it stays with a process that has made any."""
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("penstock-")]
    return [thread for thread in ours if thread.name != "penstock-requests"]


def open_descriptors():
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0  # elsewhere than on Linux there is nothing to count


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind():
    yield
    gc.collect()
    assert pipeline_threads() == []


class Gate:
    """A stage function that lets items through one by one, when told."""

    def __init__(self):
        self.entered = threading.Semaphore(0)
        self.opened = threading.Semaphore(0)

    def __call__(self, item):
        self.entered.release()
        assert self.opened.acquire(timeout=DEADLINE_SECONDS)
        return item


@given(st.integers(0, 40), st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3))
def test_items_come_out_once_each_in_the_order_of_the_source(count, shapes):
    stages = [Stage(f"add{n}", lambda item: item + 1, threads=t, depth=d) for n, (t, d) in enumerate(shapes)]
    assert list(Pipeline(range(count), stages)) == [item + len(stages) for item in range(count)]


def test_threads_of_one_stage_work_at_the_same_time_and_still_deliver_in_order():
    barrier = threading.Barrier(3)

    def meet(item):
        barrier.wait(DEADLINE_SECONDS)  # passes only when three threads are in here together
        return item

    assert list(Pipeline(range(9), [Stage("meet", meet, threads=3)])) == list(range(9))


def test_a_slow_consumer_bounds_what_is_made():
    made = itertools.count()
    gate = threading.Event()

    def source():
        for number in range(1000):
            if next(made) >= 6:
                gate.set()
            yield number

    with Pipeline(source(), [Stage("first", int, depth=2), Stage("second", int, depth=2)]) as pipeline:
        assert next(pipeline) == 0
        # Two queues of two, one item in each stage's hands, one taken: the seventh is begun and nothing after it.
        assert gate.wait(DEADLINE_SECONDS)
        assert next(made) <= 8


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_error_is_raised_in_its_place_with_its_own_traceback(kind):
    def fail_at_three(item):
        if item == 3:
            raise kind("three")
        return item

    seen = []
    with pytest.raises(kind, match="three") as caught:
        seen.extend(iter(Pipeline(range(10), [Stage("a", fail_at_three, threads=2), Stage("b", int)])))
    assert "fail_at_three" in "".join(traceback.format_exception(caught.value))


def test_what_came_before_an_error_is_delivered_first():
    def fail_at_three(item):
        return 1 // (3 - item)

    pipeline = Pipeline(range(10), [Stage("a", fail_at_three, threads=3, depth=4)])
    assert [next(pipeline) for _ in range(3)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(pipeline)
    with pytest.raises(StopIteration):
        next(pipeline)


def test_an_error_of_the_source_comes_after_its_items():
    def source():
        yield 1
        raise OSError("the source dried up")

    pipeline = Pipeline(source(), [Stage("a", int)])
    assert next(pipeline) == 1
    with pytest.raises(OSError, match="dried up"):
        next(pipeline)


def test_a_stage_that_raises_stop_iteration_does_not_end_the_loop_in_silence():
    def stop_at_two(item):
        if item == 2:
            raise StopIteration
        return item

    seen = []
    with pytest.raises(RuntimeError, match="stage a raised StopIteration"):
        seen.extend(iter(Pipeline(range(5), [Stage("a", stop_at_two)])))


def test_the_consumer_may_put_what_it_wants_next_into_a_queue():
    wanted = OrderedQueue(10)
    with Pipeline(wanted, [Stage("double", lambda item: 2 * item, threads=2)]) as pipeline:
        for number in range(5):
            wanted.put(2 * number, number)
            wanted.put(2 * number + 1, number + 10)
            assert [next(pipeline), next(pipeline)] == [2 * number, 2 * number + 20]
        wanted.finish(10)
        assert list(pipeline) == []


def test_closing_ends_the_wait_for_what_the_consumer_wants_next():
    with Pipeline(OrderedQueue(1), [Stage("a", int, threads=3)]):
        assert len(pipeline_threads()) == 3
    assert pipeline_threads() == []


def test_leaving_the_loop_stops_the_threads():
    with Pipeline(itertools.count(), [Stage("a", int, threads=2), Stage("b", int)]) as pipeline:
        for item in pipeline:
            if item == 5:
                break
    assert pipeline_threads() == []


def test_dropping_the_last_reference_stops_the_threads():
    pipeline = Pipeline(itertools.count(), [Stage("a", int)])
    next(pipeline)
    del pipeline
    assert pipeline_threads() == []


def test_the_collector_stops_the_threads_of_a_pipeline_in_a_cycle():
    pipeline = Pipeline(itertools.count(), [Stage("a", int)])
    cycle = [pipeline]
    cycle.append(cycle)
    del pipeline, cycle
    gc.collect()
    assert pipeline_threads() == []


def test_closing_twice_and_iterating_after_it_are_harmless():
    pipeline = Pipeline(itertools.count(), [Stage("a", int)])
    pipeline.close()
    pipeline.close()
    assert list(pipeline) == []


def test_a_pipeline_left_by_an_exception_keeps_no_item_alive():
    class Cargo:
        pass

    def fail(item):
        raise ValueError(item)

    def iterate():
        cargo = [Cargo() for _ in range(5)]
        seen = [weakref.ref(one) for one in cargo]
        with pytest.raises(ValueError, match="Cargo"):
            list(Pipeline(cargo, [Stage("a", fail)]))
        return seen

    seen = iterate()
    gc.collect()
    assert [one() for one in seen] == [None] * 5


def test_a_stalled_stage_is_named_after_the_deadline():
    gate = Gate()
    pipeline = Pipeline(range(3), [Stage("read", int), Stage("decode", gate)], deadline_seconds=0.2)
    with pytest.raises(StalledError, match=r"(?s)waited 0.2 s for stage decode.*penstock-decode-0 works on item 0"):
        next(pipeline)
    gate.opened.release(3)


def seconds_to_end(deadline_seconds, leave):
    """How long leaving takes in seconds, where a thread hangs all the while and the deadline is this."""
    gate = Gate()
    pipeline = Pipeline(range(3), [Stage("read", int), Stage("decode", gate)], deadline_seconds=deadline_seconds)
    assert gate.entered.acquire(timeout=DEADLINE_SECONDS)
    began = time.monotonic()
    leave(pipeline)
    elapsed = time.monotonic() - began
    gate.opened.release(3)
    for thread in pipeline_threads():
        thread.join(DEADLINE_SECONDS)
    return elapsed


def test_the_deadline_is_waited_for_once():
    def leave(pipeline):
        with pytest.raises(StalledError), pipeline:
            next(pipeline)
        pipeline.close()

    assert 2 <= seconds_to_end(2, leave) < 3.5


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_does_not_wait_for_a_thread_that_hangs(kind):
    def leave(pipeline):
        with pytest.raises(kind), pipeline:
            raise kind

    assert seconds_to_end(60, leave) < 10


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("is_started", [True, False], ids=["after", "before"])
def test_an_exception_while_threads_are_started_stops_those_that_were(kind, is_started, monkeypatch):
    started = []
    start = Worker.start

    def interrupted(worker):
        started.append(worker)
        if len(started) < 3 or is_started:
            start(worker)
        if len(started) == 3:
            raise kind("no more")

    monkeypatch.setattr(Worker, "start", interrupted)
    with pytest.raises(kind, match="no more"):
        Pipeline(itertools.count(), [Stage("a", abs, threads=4)])
    assert (len(started), pipeline_threads()) == (3, [])


def test_a_pipeline_that_is_dropped_does_not_wait_for_a_thread_that_hangs():
    def leave(pipeline):
        pipeline._end()  # what the collector and the interpreter's exit call

    assert seconds_to_end(60, leave) < 10


def test_closing_tells_which_thread_does_not_end():
    gate = Gate()
    pipeline = Pipeline(range(3), [Stage("decode", gate)], deadline_seconds=0.1)
    assert gate.entered.acquire(timeout=DEADLINE_SECONDS)
    with pytest.raises(StalledError, match="penstock-decode-0 works on item 0"):
        pipeline.close()
    gate.opened.release(3)
    for thread in pipeline_threads():
        thread.join(DEADLINE_SECONDS)


def test_statistics_tell_who_waits_for_whom():
    gate = Gate()
    gate.opened.release(5)
    pipeline = Pipeline(range(5), [Stage("read", int), Stage("decode", gate, threads=2)])
    assert list(pipeline) == list(range(5))
    read, decode = pipeline.statistics()
    assert (read.name, read.threads, read.items) == ("read", 1, 5)
    assert (decode.name, decode.threads, decode.items) == ("decode", 2, 5)
    assert min(read.busy_seconds, decode.starved_seconds, decode.busy_seconds, pipeline.wait_seconds) >= 0
    assert 0 <= decode.occupancy <= 1


def test_a_pipeline_without_stages_is_refused():
    with pytest.raises(UsageError, match="at least one stage"):
        Pipeline([], [])


def test_two_hundred_pipelines_leave_neither_threads_nor_descriptors():
    before = open_descriptors()
    for _ in range(200):
        next(Pipeline(itertools.count(), [Stage("a", int), Stage("b", int, threads=2)]))
    gc.collect()
    assert pipeline_threads() == []
    assert open_descriptors() <= before


EXIT_SCRIPT = """
import itertools
from penstock.pipeline import Pipeline, Stage
pipeline = Pipeline(itertools.count(), [Stage("a", int), Stage("b", int)])
print(next(pipeline))
"""

FORK_SCRIPT = """
import itertools, os, sys
from penstock.errors import UsageError
from penstock.pipeline import Pipeline, Stage
pipeline = Pipeline(itertools.count(), [Stage("a", int)])
next(pipeline)
child = os.fork()
if child == 0:
    try:
        next(pipeline)
    except UsageError:
        del pipeline
        sys.exit(7)  # by way of the exit hooks
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert next(pipeline) == 1
"""


@pytest.mark.parametrize("script", [EXIT_SCRIPT, FORK_SCRIPT], ids=["exit", "fork"])
def test_a_process_with_a_live_pipeline_ends_cleanly(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
