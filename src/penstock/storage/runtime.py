"""The one thread of a process in which all requests to object stores are made.

obstore brings threads of its own, and a child process made by fork has none of them: requests made there wait for ever,
also those of a new client. So whoever has made a request and then forks is told so in the child, instead of hanging.
Children that are started anew (spawn, forkserver) are not concerned, nor is a fork before the first request.

The thread is a daemon, stopped by an exit hook: nothing of it may run any more when the interpreter goes.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from concurrent.futures import TimeoutError  # noqa: A004  Python 3.10 has another by that name
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, final

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future

__all__ = ["awaited", "begin", "call"]

T = TypeVar("T")
LEAVING_SECONDS = 1.0
TURN_SECONDS = 1.0


@final
class _Runtime:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="penstock-requests", daemon=True)
        self._thread.start()
        atexit.register(self._stop)

    def _run(self) -> None:
        self.loop.run_forever()

    def _stop(self) -> None:
        if os.getpid() == self.pid:
            self.loop.call_soon_threadsafe(self._end)
            self._thread.join(LEAVING_SECONDS)

    def _end(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.call_soon(self.loop.stop)


_runtime: _Runtime | None = None
_lock = threading.Lock()


def _here() -> _Runtime:
    global _runtime  # noqa: PLW0603  there is one per process, and a fork inherits it: that is the point
    if _runtime is None:
        with _lock:
            if _runtime is None:
                _runtime = _Runtime()
    if _runtime.pid != os.getpid():
        raise UsageError(
            "an object store cannot be used after a fork",
            got=f"process {os.getpid()}, forked from {_runtime.pid}, which had made requests already",
            hint="start worker processes by multiprocessing_context='forkserver' or 'spawn' (DataLoader), or use "
            "penstock.torch.Loader, which needs none",
        )
    return _runtime


def begin(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine in the thread of requests."""
    try:
        loop = _here().loop
    except UsageError:
        coroutine.close()
        raise
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def call(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the thread of requests, and wait for what it gives."""
    future = begin(coroutine)
    try:
        return awaited(future)
    except BaseException:
        future.cancel()
        raise


def awaited(future: Future[T]) -> T:
    """Wait for a future, in turns: a Ctrl-C that comes when a wait is just about to begin does not interrupt it."""
    while not future.done():
        with suppress(TimeoutError):
            future.result(TURN_SECONDS)
    return future.result()
