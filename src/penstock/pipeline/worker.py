"""One thread of a stage: take an item, work, hand it on; and keep the books on where the time went."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from penstock.pipeline.queue import Closed, Finished, OrderedQueue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from penstock.pipeline.stage import Stage
    from penstock.pipeline.trace import Recorder

__all__ = ["Failure", "Source", "Worker", "blocked"]

_this = threading.local()  # the worker whose thread this is


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """An exception in the place of an item, on its way to the consumer."""

    error: BaseException


@final
class Source:
    """The source of a pipeline, taken from by one thread at a time; the items get their numbers here."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self._lock = threading.Lock()
        self._next = 0
        self._has_ended = False

    def get(self) -> tuple[int, Any]:
        """Take the next item and its number. An exception of the source becomes the last item."""
        with self._lock:
            if self._has_ended:
                raise Finished(self._next)
            number = self._next
            try:
                item = next(self._items)
            except StopIteration:
                self._has_ended = True
                raise Finished(number) from None
            except BaseException as error:  # noqa: BLE001  whatever it is, the consumer shall have it
                self._has_ended = True
                item = Failure(error)
            self._next += 1
            return number, item


@final
class Worker(threading.Thread):
    """A daemon thread that runs a stage between two queues until there is nothing left or the pipeline closes."""

    def __init__(self, stage: Stage, given: Source | OrderedQueue, done: OrderedQueue, number: int) -> None:
        super().__init__(name=f"penstock-{stage.name}-{number}", daemon=True)
        self.stage = stage
        self.recorder: Recorder | None = None
        self.items = 0
        self.busy_seconds = 0.0
        self.starved_seconds = 0.0
        self.blocked_seconds = 0.0  # waiting for room after it, or in the middle of its work for memory
        self._given = given
        self._done = done
        self._doing = ("has not begun", time.monotonic())

    def run(self) -> None:
        """Work until the end."""
        _this.worker = self
        try:
            while True:
                self._take_one()
        except Finished as end:
            self._done.finish(end.args[0])
        except Closed:
            pass
        finally:
            self._doing = ("has ended", time.monotonic())

    def _take_one(self) -> None:
        began = time.monotonic()
        self._doing = ("waits for an item", began)
        number, item = self._given.get()
        got = time.monotonic()
        self.starved_seconds += got - began
        blocked_before = self.blocked_seconds
        if not isinstance(item, Failure):
            self._doing = (f"works on item {number}", got)
            try:
                item = self.stage.run(item)
            except StopIteration as error:  # raised in the consumer it would end the loop in silence
                item = Failure(RuntimeError(f"stage {self.stage.name} raised StopIteration"))
                item.error.__cause__ = error
            except BaseException as error:  # noqa: BLE001  whatever it is, the consumer shall have it
                item = Failure(error)
        worked = time.monotonic()
        self.busy_seconds += worked - got - (self.blocked_seconds - blocked_before)
        self._doing = ("waits for room after it", worked)
        try:
            self._done.put(number, item)
        finally:
            del item  # a failure's traceback holds this frame: without this they would keep each other alive
        done = time.monotonic()
        self.blocked_seconds += done - worked
        self.items += 1
        if self.recorder is not None:
            self._record(number, began, got, worked, done)

    def _record(self, number: int, *times: float) -> None:
        assert self.recorder is not None
        began, got, worked, done = times
        self.recorder.span(self.name, "starved", "waits for an item", began, got)
        self.recorder.span(self.name, "work", self.stage.name, got, worked, number)
        self.recorder.span(self.name, "blocked", "waits for room after it", worked, done)

    def state(self) -> str:
        """Say what the thread is doing, and for how long."""
        what, since = self._doing
        return f"{self.name} {what} for {time.monotonic() - since:.1f} s"

    @contextmanager
    def blocked(self, what: str) -> Iterator[None]:
        """Count the time inside, which is part of the stage's work, as waiting."""
        doing, began = self._doing, time.monotonic()
        self._doing = (what, began)
        try:
            yield
        finally:
            ended = time.monotonic()
            self.blocked_seconds += ended - began
            self._doing = doing
            if self.recorder is not None:
                self.recorder.span(self.name, "blocked", what, began, ended)


def blocked(what: str) -> AbstractContextManager[None]:
    """Count the time inside as waiting of this thread's worker, if it is one's."""
    worker: Worker | None = getattr(_this, "worker", None)
    return nullcontext() if worker is None else worker.blocked(what)
