"""A trace: what every thread of a loader did, and when, for looking at a slow moment closely.

    trace = Trace()
    loader = Loader("photos.pen", batch_size=256, trace=trace)
    for images, labels in loader:
        with trace.span("forward"):      # the loop's own work beside the loader's, where that is wanted
            ...
    write_trace(trace, "trace.json.gz")  # penstock.report; Perfetto and chrome://tracing open it

Rules:
- What is recorded are spans: of one lane (a thread, or the consumer), from a time to a time, of a kind. They are made
  of the times that the statistics are made of anyway.
- A lane does one thing at a time, so its spans follow one another or lie within one another. What runs side by side in
  one thread, as requests do, has no lane: such spans are `loose`.
- Memory is bounded: the newest `keep` spans are kept, and how many older ones were dropped is counted.
- Recording is one append per span, without a lock. A loader without a trace asks once per batch and thread whether it
  has one, and does nothing.

Times are those of `time.monotonic`. `began_at` has that clock and the wall clock at the same moment, so that a trace
can be laid beside another tool's.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["CONSUMER", "Count", "Lanes", "Recorder", "Span", "Trace"]

KEEP = 200_000
CONSUMER = "consumer"


class Span(NamedTuple):
    """Something that a lane did, from a time to a time."""

    run: int  # which iteration of a loader; -1: none, it is the user's own
    lane: str
    kind: str  # "work", "starved", "blocked", "wait", "step" or "own"; "loose" ones may lie across each other
    name: str
    began: float
    ended: float
    item: int  # which batch of the iteration; -1: none


class Count(NamedTuple):
    """How many finished items lay after each stage, at a time."""

    run: int
    at: float
    waiting: tuple[int, ...]  # by stage


@dataclass(frozen=True, slots=True)
class Lanes:
    """One iteration: when it began, and its stages with their lanes, in the order of the data."""

    run: int
    began: float
    stages: tuple[tuple[str, tuple[str, ...]], ...]


@final
class Trace:
    """Records loaders that it is given to, any number of them, one after another or at once."""

    def __init__(self, *, keep: int = KEEP) -> None:
        if keep < 1:
            raise UsageError("a trace keeps at least one span", got=keep)
        self.began_at = (time.monotonic(), time.time())
        self._spans: deque[Span] = deque(maxlen=keep)
        self._counts: deque[Count] = deque(maxlen=keep)
        self._runs: list[Lanes] = []
        self._recorded = itertools.count()  # whose next number is how many there were
        self._last = -1
        self._lock = threading.Lock()

    def begin(self, stages: Sequence[tuple[str, tuple[str, ...]]]) -> Recorder:
        """Begin an iteration with these stages and lanes."""
        with self._lock:
            lanes = Lanes(len(self._runs), time.monotonic(), tuple(stages))
            self._runs.append(lanes)
        return Recorder(self, lanes.run)

    def add(self, span: Span) -> None:
        """Record a span."""
        self._last = next(self._recorded)
        self._spans.append(span)

    def count(self, count: Count) -> None:
        """Record how full the queues are."""
        self._counts.append(count)

    def request(self, name: str, size_bytes: int, began: float, ended: float) -> None:
        """Record a request to a store."""
        self.add(Span(-1, "requests", "loose", f"{name}, {size_bytes:,} bytes", began, ended, -1))

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Record what is inside as a span of the calling thread: for the training loop's own work."""
        began = time.monotonic()
        try:
            yield
        finally:
            lane = threading.current_thread().name
            self.add(Span(-1, lane, "own", name, began, time.monotonic(), -1))

    @property
    def runs(self) -> tuple[Lanes, ...]:
        """The iterations recorded so far."""
        return tuple(self._runs)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans that are kept, in the order in which they ended. Threads may go on recording meanwhile."""
        return tuple(self._spans.copy())

    @property
    def counts(self) -> tuple[Count, ...]:
        """How full the queues were, one moment after another."""
        return tuple(self._counts.copy())

    @property
    def dropped(self) -> int:
        """How many spans were too many, and are gone: the oldest."""
        return max(self._last + 1 - len(self._spans), 0)

    def __repr__(self) -> str:
        return f"Trace({len(self._runs)} iterations, {len(self._spans)} spans, {self.dropped} dropped)"


@final
class Recorder:
    """Records one iteration."""

    def __init__(self, trace: Trace, run: int) -> None:
        self._trace, self._run = trace, run
        self._left: tuple[float, int] | None = None  # when the consumer was given which item

    def span(self, lane: str, kind: str, name: str, began: float, ended: float, item: int = -1) -> None:  # noqa: PLR0917
        """Record a span."""
        self._trace.add(Span(self._run, lane, kind, name, began, ended, item))

    def waited(self, began: float, ended: float, item: int) -> None:
        """Record that the consumer waited for an item; since the one before, it did its step. No item: -1."""
        if self._left is not None:
            left, before = self._left
            self.span(CONSUMER, "step", f"step {before}", left, began, before)
        self.span(CONSUMER, "wait", "waits for a batch", began, ended, item)
        self._left = None if item < 0 else (ended, item)

    def queues(self, waiting: tuple[int, ...]) -> None:
        """Record how full the queues are."""
        self._trace.count(Count(self._run, time.monotonic(), waiting))
