"""The thread of requests: waits for it end with what comes, or with a Ctrl-C."""

import time
from concurrent.futures import CancelledError, Future

import pytest

from penstock.storage import runtime
from tests.threads import interrupted_elsewhere


async def giving(value):
    return value


async def failing():
    raise TimeoutError("of its own")


def test_a_call_gives_what_its_coroutine_gives_or_raises():
    assert runtime.call(giving(5)) == 5
    with pytest.raises(TimeoutError, match="of its own"):
        runtime.call(failing())


def test_waiting_for_what_is_cancelled_ends():
    future = Future()
    future.cancel()
    with pytest.raises(CancelledError):
        runtime.awaited(future)


def test_a_ctrl_c_that_does_not_interrupt_a_wait_is_noticed_soon():
    future = Future()
    thread = interrupted_elsewhere(lambda: future._condition._waiters)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        runtime.awaited(future)
    thread.join(10)
    assert time.monotonic() - began < 20
