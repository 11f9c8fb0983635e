"""An event loop in a thread of its own, for work that waits and does not compute.

Coroutines are handed in by another thread, and begin in that order as there is room: at most `tasks` are under way.
Each is a future, which any thread may wait for. What they share and what belongs to the loop, a client with its
connections, is an asynchronous context: entered before the first of them and left after the last.

The thread starts with the first coroutine. `close` cancels those under way, so that all waits end, leaves the context,
and waits `LEAVING_SECONDS` for that at the most: a coroutine that holds the thread up, or will not be cancelled, ends
when it lets go. Whoever wants to enter the same context again waits in `leave` until it has been left.

A loop that ends in any other way (somebody stops it, or exits the interpreter from a callback) is the end of what is
under way, and an error for whoever waits for it.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from inspect import CORO_CREATED, getcoroutinestate
from typing import TYPE_CHECKING, Any, final

from penstock.errors import StalledError, UsageError
from penstock.pipeline.pipeline import LEAVING_SECONDS
from penstock.pipeline.queue import Closed
from penstock.pipeline.worker import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

__all__ = ["Loop"]


@final
class Loop:
    """At most `tasks` coroutines at a time, within a context, in one thread."""

    def __init__(self, context: AbstractAsyncContextManager[Any], *, tasks: int, deadline_seconds: float) -> None:
        self._context = context
        self._tasks = tasks
        self._deadline_seconds = deadline_seconds
        self._thread = threading.Thread(target=self._run, name="penstock-loop", daemon=True)
        self._serving: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()  # the loop, and `_serve`
        self._entered: Future[asyncio.Semaphore] = Future()  # within the context; the slots that coroutines take
        self._under_way: set[asyncio.Task[Any]] = set()
        self._awaited: set[Future[Any]] = set()  # what was handed in and has not come back
        self._is_closed = False
        self._until: asyncio.Future[None] | None = None  # cancelled when everything is
        self._ended: UsageError | None = None  # why nothing can be handed in any more, though nobody has closed this
        self._lock = threading.RLock()  # reentrant, because the collector may close a loop in the middle of `begin`

    def begin(self, run: Callable[[], Awaitable[Any]]) -> Future[Any]:
        """Hand in a coroutine. An exception of it is the future's result, as a `Failure`, and ends nothing else."""
        with self._lock:
            self._check_open()
            if self._thread.ident is None:
                self._thread.start()
        if not wait([self._entered], self._deadline_seconds).done:
            entering = f"{type(self._context).__name__}.__aenter__"
            raise StalledError(f"{entering} did not end", expected=f"an end within {self._deadline_seconds:g} s")
        slots = self._entered.result()
        with self._lock:
            self._check_open()
            future = asyncio.run_coroutine_threadsafe(self._one(run, slots), self._serving.result()[0])
            self._awaited.add(future)
        future.add_done_callback(self._awaited.discard)
        return future

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed
        if self._ended is not None:
            raise self._ended

    def close(self) -> None:
        """Cancel everything and end the thread."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        if self._thread.ident is None or self._ended is not None or self._serving.exception() is not None:
            return  # not begun, or ended, or no loop could be made
        loop, serving = self._serving.result()
        with suppress(RuntimeError):  # the context could not be entered: the loop has closed by itself
            for future in tuple(self._awaited):
                future.cancel()  # which also cancels the coroutine; but those who wait do not wait for that
            loop.call_soon_threadsafe(serving.cancel)
        if threading.current_thread() is not self._thread:
            self._thread.join(LEAVING_SECONDS)

    def leave(self) -> None:
        """Wait until the context has been left, if this is closed."""
        if not self._is_closed or self._thread.ident is None or threading.current_thread() is self._thread:
            return
        self._thread.join(self._deadline_seconds)
        if self._thread.is_alive():
            what = f"{type(self._context).__name__}.__aexit__, or a coroutine that was cancelled, did not end"
            raise StalledError(what, expected=f"an end within {self._deadline_seconds:g} s")

    async def _one(self, run: Callable[[], Awaitable[Any]], slots: asyncio.Semaphore) -> Any:
        task = asyncio.current_task()
        assert task is not None
        self._under_way.add(task)
        try:
            async with slots:
                return await run()
        except asyncio.CancelledError as error:
            if self._is_closed:
                raise
            is_end = self._until is not None and self._until.cancelled()
            return Failure(self._end() if is_end else error)
        except BaseException as error:  # noqa: BLE001  KeyboardInterrupt, too: it would end the loop and reach nobody
            return Failure(error)
        finally:
            self._under_way.discard(task)

    def _run(self) -> None:
        serve = self._serve()
        try:
            asyncio.run(serve)
        except BaseException as error:  # whatever it is, whoever waits shall have it
            if getcoroutinestate(serve) == CORO_CREATED:  # there was no loop for it
                serve.close()
            is_cancelled = isinstance(error, asyncio.CancelledError)
            unanswered = [future for future in (self._serving, self._entered) if not future.done()]
            for future in unanswered:
                future.set_exception(Closed() if is_cancelled else error)
            if unanswered or is_cancelled:
                return
            if self._is_closed:
                raise  # leaving the context failed: nobody waits for that, so it is printed
            self._end().__cause__ = error
            for waiting in tuple(self._awaited):
                with suppress(InvalidStateError):  # it has come back just now
                    waiting.set_result(Failure(self._end()))

    def _end(self) -> UsageError:
        """Note that the loop has ended by itself; what those are told who wait."""
        with self._lock:
            if self._ended is None:
                what = "the event loop that items are fetched on has ended"
                hint = "something on it calls loop.stop(), or raises SystemExit or KeyboardInterrupt in a callback"
                self._ended = UsageError(what, hint=hint)
            return self._ended

    async def _serve(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.set_result((asyncio.get_running_loop(), task))
        async with self._context:
            self._entered.set_result(asyncio.Semaphore(self._tasks))
            try:
                self._until = asyncio.get_running_loop().create_future()
                await self._until  # until `close` cancels it
            finally:
                for one in self._under_way:
                    one.cancel()
                await asyncio.gather(*self._under_way, return_exceptions=True)
