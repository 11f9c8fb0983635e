"""An event loop in a thread of its own: in order, bounded, and every wait ends."""

import asyncio
import gc
import sys
import threading
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, nullcontext, suppress

import pytest

import penstock.pipeline.loop
from penstock.errors import StalledError, UsageError
from penstock.pipeline.loop import Loop
from penstock.pipeline.queue import Closed
from penstock.pipeline.worker import Failure

DEADLINE_SECONDS = 20


def loop_threads():
    return [thread for thread in threading.enumerate() if thread.name == "penstock-loop"]


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind():
    yield
    assert loop_threads() == []


@pytest.fixture
def make():
    """Make loops that are closed at the end."""
    made = []

    def loop(context=None, *, tasks=4, deadline_seconds=DEADLINE_SECONDS):
        made.append(Loop(context or nullcontext(), tasks=tasks, deadline_seconds=deadline_seconds))
        return made[-1]

    yield loop
    for one in made:
        one.close()


def giving(value):
    async def give():
        return value

    return give


def raising(error):
    async def fail():
        raise error

    return fail


async def hang():
    await asyncio.Event().wait()


def test_a_coroutine_is_a_future_with_its_value(make):
    loop = make()
    assert [loop.begin(giving(number)).result(DEADLINE_SECONDS) for number in range(3)] == [0, 1, 2]


def test_the_thread_starts_with_the_first_coroutine(make):
    loop = make()
    assert loop_threads() == []
    loop.begin(giving(1))
    assert len(loop_threads()) == 1


def test_so_many_coroutines_are_under_way_and_no_more_and_they_begin_in_order(make):
    loop, begun, gates = make(tasks=3), [], [asyncio.Event() for _ in range(7)]

    def waiting(number):
        async def wait():
            begun.append(number)
            await gates[number].wait()

        return wait

    async def settled():
        for _ in range(10):  # turns of the loop, in which everything runs that can
            await asyncio.sleep(0)
        return list(begun)

    def now(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop._serving.result()[0]).result(DEADLINE_SECONDS)

    async def opened(number):
        gates[number].set()

    futures = [loop.begin(waiting(number)) for number in range(7)]
    for number, future in enumerate(futures):
        assert now(settled()) == list(range(min(number + 3, 7)))
        now(opened(number))
        assert future.result(DEADLINE_SECONDS) is None


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_an_exception_is_a_result_and_disturbs_no_other(make, kind):
    loop = make()
    failed, fine = loop.begin(raising(kind("seven"))), loop.begin(giving(8))
    result = failed.result(DEADLINE_SECONDS)
    assert isinstance(result, Failure)
    assert isinstance(result.error, kind)
    assert fine.result(DEADLINE_SECONDS) == 8


def test_closing_ends_all_waits(make):
    loop = make(tasks=2)
    futures = [loop.begin(hang) for _ in range(4)]  # two are under way, two wait for a slot
    loop.close()
    for future in futures:
        with pytest.raises(CancelledError):
            future.result(DEADLINE_SECONDS)
    with pytest.raises(Closed):
        loop.begin(giving(1))


def test_a_loop_that_was_never_used_closes(make):
    loop = make()
    loop.close()
    loop.close()
    with pytest.raises(Closed):
        loop.begin(giving(1))


def test_the_context_is_entered_before_the_first_and_left_after_the_last_by_one_task(make):
    seen = []

    @asynccontextmanager
    async def context():
        task = asyncio.current_task()
        seen.append("entered")
        try:
            yield
        finally:
            seen.append("left" if asyncio.current_task() is task else "left elsewhere")

    async def under_way():
        seen.append("begun")
        try:
            await hang()
        finally:
            seen.append("ended")

    loop = make(context())
    assert seen == []
    loop.begin(under_way)
    loop.begin(giving(1)).result(DEADLINE_SECONDS)
    loop.close()
    assert seen == ["entered", "begun", "ended", "left"]


def test_a_context_that_cannot_be_entered_is_an_error_for_who_begins(make):
    @asynccontextmanager
    async def context():
        raise ConnectionError("nobody is there")
        yield

    loop = make(context())
    for _ in range(2):
        with pytest.raises(ConnectionError, match="nobody is there"):
            loop.begin(giving(1))


def test_a_context_that_hangs_is_waited_for_as_long_as_the_deadline_says(make):
    class Slow:
        async def __aenter__(self):
            await hang()

        async def __aexit__(self, *_):
            raise AssertionError("it was never entered")

    with pytest.raises(StalledError, match=r"Slow.__aenter__ did not end: expected an end within 0\.1 s"):
        make(Slow(), deadline_seconds=0.1).begin(giving(1))


def test_closing_does_not_wait_for_a_coroutine_that_holds_the_thread_up(make):
    gate, held = threading.Event(), threading.Event()

    async def hold():
        held.set()
        assert gate.wait(DEADLINE_SECONDS)

    loop = make()
    loop.begin(hold)
    assert held.wait(DEADLINE_SECONDS)
    loop.close()
    (thread,) = loop_threads()
    gate.set()
    thread.join(DEADLINE_SECONDS)


def test_whoever_waits_for_a_coroutine_that_will_not_be_cancelled_is_let_go(make, monkeypatch):
    monkeypatch.setattr(penstock.pipeline.loop, "LEAVING_SECONDS", 0.01)
    gate, begun = threading.Event(), threading.Event()

    async def stubborn():
        begun.set()
        while not gate.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    loop = make()
    future = loop.begin(stubborn)
    assert begun.wait(DEADLINE_SECONDS)
    loop.close()
    with pytest.raises(CancelledError):
        future.result(DEADLINE_SECONDS)
    gate.set()
    loop.leave()


class LeftSlowly:
    """A context that is left when its gate is opened."""

    def __init__(self):
        self.gate = threading.Event()

    async def __aenter__(self):
        pass

    async def __aexit__(self, *_):
        await asyncio.to_thread(self.gate.wait, DEADLINE_SECONDS)


def test_a_context_that_is_left_slowly_is_waited_for_by_whoever_wants_to_enter_it_again(make, monkeypatch):
    monkeypatch.setattr(penstock.pipeline.loop, "LEAVING_SECONDS", 0.01)
    context = LeftSlowly()
    loop = make(context, deadline_seconds=0.1)
    loop.begin(giving(1)).result(DEADLINE_SECONDS)
    loop.leave()  # it is not closed, so there is nothing to wait for
    loop.close()
    with pytest.raises(StalledError, match=r"LeftSlowly.__aexit__, or a coroutine .* did not end"):
        loop.leave()
    (thread,) = loop_threads()
    context.gate.set()
    thread.join(DEADLINE_SECONDS)
    loop.leave()


@pytest.mark.parametrize("way", ["exit", "stop"])
def test_a_loop_that_somebody_ends_is_an_error_for_all_who_wait_and_for_who_comes_later(make, way):
    together = threading.Barrier(2)

    async def end():
        together.wait(DEADLINE_SECONDS)
        loop = asyncio.get_running_loop()
        loop.call_soon(sys.exit if way == "exit" else loop.stop)
        await hang()

    loop = make()
    futures = [loop.begin(hang), loop.begin(end)]
    together.wait(DEADLINE_SECONDS)
    for future in futures:
        assert "has ended" in str(future.result(DEADLINE_SECONDS).error)
    loop._thread.join(DEADLINE_SECONDS)
    with pytest.raises(UsageError, match="has ended") as raised:
        loop.begin(giving(1))
    assert isinstance(raised.value.__cause__, SystemExit if way == "exit" else RuntimeError)


def test_where_no_loop_can_be_made_that_is_the_error(make, monkeypatch):
    def refuse():
        raise OSError("too many open files")

    loop = make()
    monkeypatch.setattr(asyncio.events, "new_event_loop", refuse)
    with pytest.raises(OSError, match="too many open files"):
        loop.begin(giving(1))
    gc.collect()  # a coroutine that was never awaited would be a warning
