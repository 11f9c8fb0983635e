"""The pipeline: a source, stages of threads, and the consumer who pulls at the end.

    with Pipeline(source, [Stage("read", read), Stage("decode", decode, threads=2)]) as pipeline:
        for item in pipeline: ...

Rules:
- Order: items come out in the order of the source, however many threads a stage has.
- Bounds: each stage keeps at most `depth` finished items; a slow consumer stops everything behind it.
- Errors: an exception of a stage or of the source travels in its item's place. What came before it is delivered first;
  then it is raised in the consumer, with its own traceback, and the pipeline ends.
- Ends: leaving the `with`, exhausting the iteration, dropping the last reference and leaving the interpreter all stop
  the threads and wait for them. Threads refer to the queues and never to the pipeline, so that it can be collected;
  they are daemons, stopped by an exit hook, because the interpreter would wait for others before it runs any hook.
- Waits: the consumer waits at most `deadline_seconds` for an item and is then told which stage is doing what. Threads
  inside wait without limit for one another, since all of them together may rightly wait for a consumer who is training;
  `close` ends those waits. `close` itself waits at most `deadline_seconds` for work that has begun. Any other end
  waits `LEAVING_SECONDS` at the most: an exception (a deadline that has passed, Ctrl-C) is the news then, and may not
  be kept back by a thread that hangs. A thread that is still at work ends as soon as that is done.
- Fork: a child process has none of the threads. There a pipeline does nothing but say so.
- Source: an iterable, from which the first stage's threads take; or a queue, into which the consumer puts what it wants
  next, so that nothing of the source runs in another thread than the consumer's.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Protocol, final

from penstock.errors import StalledError, UsageError
from penstock.pipeline.options import time_limit
from penstock.pipeline.queue import Closed, Finished, OrderedQueue
from penstock.pipeline.statistics import StageStatistics
from penstock.pipeline.worker import Failure, Source, Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from penstock.pipeline.stage import Stage
    from penstock.pipeline.trace import Recorder, Trace

__all__ = ["Closable", "Pipeline"]

DEADLINE_SECONDS = 600.0
LEAVING_SECONDS = 1.0
_BEGINS_SECONDS = 0.001  # about what a thread takes to begin


class Closable(Protocol):
    """Something that threads wait for, until it is closed: then their waits raise `Closed`."""

    def close(self) -> None:
        """End all waits."""


@final
class Pipeline:
    """Stages between a source and a consumer; an iterator over the last stage's items.

    Its end also closes what its stages wait for beside their queues: `waited_for`.
    """

    def __init__(
        self,
        source: Iterable[Any] | OrderedQueue,
        stages: Sequence[Stage],
        *,
        deadline_seconds: float = DEADLINE_SECONDS,
        waited_for: Sequence[Closable] = (),
        trace: Trace | None = None,
    ) -> None:
        if not stages:
            raise UsageError("a pipeline has at least one stage")
        self._stages = tuple(stages)
        self._deadline_seconds = time_limit(deadline_seconds, what="deadline_seconds")
        self._pid = os.getpid()
        self._queues = [OrderedQueue(stage.depth) for stage in stages]
        self._workers: list[Worker] = []
        self._wait_seconds = 0.0
        given = source if isinstance(source, OrderedQueue) else Source(iter(source))
        asked = [source] if isinstance(source, OrderedQueue) else []
        for stage, queue in zip(stages, self._queues, strict=True):
            self._workers += [Worker(stage, given, queue, number) for number in range(stage.threads)]
            given = queue
        self._recorder = None if trace is None else self._traced(trace)
        patience = min(LEAVING_SECONDS, deadline_seconds)
        self._closed_at_end = (*self._queues, *asked, *waited_for)
        self._end = weakref.finalize(self, _end, self._pid, self._closed_at_end, self._workers, patience)
        try:
            for worker in self._workers:
                worker.start()
        except BaseException:  # Ctrl-C, or no more threads to be had: nobody has the pipeline to close it
            self._end()
            raise

    def _traced(self, trace: Trace) -> Recorder:
        """Have all threads record what they do."""
        lanes = [tuple(worker.name for worker in self._workers if worker.stage is stage) for stage in self._stages]
        recorder = trace.begin([(stage.name, names) for stage, names in zip(self._stages, lanes, strict=True)])
        for worker in self._workers:
            worker.recorder = recorder
        return recorder

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if os.getpid() != self._pid:
            raise UsageError(
                "a pipeline cannot be used in a child process",
                got=f"process {os.getpid()}",
                expected=f"process {self._pid}, which started it",
                hint="start the iteration in the process that uses it",
            )
        began, number = time.monotonic(), -1
        if self._recorder is not None:
            self._recorder.queues(tuple(queue.waiting for queue in self._queues))
        try:
            number, item = self._queues[-1].get(timeout_seconds=self._deadline_seconds)
        except (Finished, Closed):
            self.close()
            raise StopIteration from None
        except TimeoutError:
            states = self.states()
            self._end.detach()  # whoever leaves on this error has waited for the thread that hangs
            for waited_for in self._closed_at_end:
                waited_for.close()
            raise StalledError(
                f"the consumer waited {self._deadline_seconds:g} s for stage {self._stages[-1].name}",
                got="\n".join(["nothing, while", *(f"  {state}" for state in states)]),
                hint="a stage that is working has hung in its own work; raise the deadline if it is only slow",
            ) from None
        finally:
            ended = time.monotonic()
            self._wait_seconds += ended - began
            if self._recorder is not None:
                self._recorder.waited(began, ended, number)
        if isinstance(item, Failure):
            self._end()
            try:
                raise item.error
            finally:
                del item  # the error's traceback holds this frame: without this they would keep each other alive
        return item

    def close(self) -> None:
        """Stop the threads, wait for them, let go of everything in flight. Further iteration ends at once."""
        if not self._end.alive:
            return  # it has ended, well or not
        began = time.monotonic()
        self._end()
        if os.getpid() == self._pid:
            _join(self._workers, self._deadline_seconds - (time.monotonic() - began))
        stuck = [worker.state() for worker in self._workers if worker.is_alive()]
        if stuck and os.getpid() == self._pid and threading.current_thread() not in self._workers:
            raise StalledError(
                f"threads did not end within {self._deadline_seconds:g} s of being told to", got="; ".join(stuck)
            )

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.leave()

    def leave(self) -> None:
        """Stop the threads as `close` does, but wait only a moment for them, and do not complain."""
        self._end()

    def states(self) -> list[str]:
        """Say what every thread is doing now, and for how long."""
        return [worker.state() for worker in self._workers]

    @property
    def wait_seconds(self) -> float:
        """Time the consumer has waited for items. High: the pipeline is slower than its consumer. Low: it keeps up."""
        return self._wait_seconds

    def statistics(self) -> list[StageStatistics]:
        """Tell what each stage has been doing with its time, first stage first."""
        found = []
        for stage, queue in zip(self._stages, self._queues, strict=True):
            workers = [worker for worker in self._workers if worker.stage is stage]
            found.append(
                StageStatistics(
                    name=stage.name,
                    threads=stage.threads,
                    items=sum(worker.items for worker in workers),
                    busy_seconds=sum(worker.busy_seconds for worker in workers),
                    starved_seconds=sum(worker.starved_seconds for worker in workers),
                    blocked_seconds=sum(worker.blocked_seconds for worker in workers),
                    occupancy=queue.occupancy,
                )
            )
        return found


def _end(pid: int, waited_for: Sequence[Closable], workers: list[Worker], patience_seconds: float) -> None:
    """Stop and wait a moment; run once per pipeline: by close, by the collector, or at exit."""
    if os.getpid() != pid:
        return  # a forked child: no threads here, and the locks may be held by threads that do not exist
    for one in waited_for:
        one.close()
    _join(workers, patience_seconds)


def _join(workers: list[Worker], patience_seconds: float) -> None:
    if threading.current_thread() in workers:
        return  # the collector ran in one of the pipeline's own threads, which may hold what the others wait for
    deadline = time.monotonic() + patience_seconds
    for worker in set(workers).intersection(threading.enumerate()):  # not those that were never started
        while time.monotonic() <= deadline:
            try:
                worker.join(max(deadline - time.monotonic(), 0))
                break
            except RuntimeError:  # it is about to begin: Ctrl-C came while it was being started
                time.sleep(_BEGINS_SECONDS)
