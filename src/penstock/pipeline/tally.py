"""The tally of one iteration: how much went through, what was left out and why, and what the stages did meanwhile."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.errors import PenstockError
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.statistics import StageStatistics
    from penstock.types import CacheStatistics, StoreStatistics

__all__ = ["LoaderStatistics", "Tally"]

KEPT_ERRORS = 100


@final
@dataclass(frozen=True, slots=True)
class LoaderStatistics:
    """What the latest iteration has done so far."""

    samples: int
    """Samples made ready, whether the consumer has taken them yet or not."""

    skipped: dict[str, int]
    """Samples left out because of an error, by its kind, and files of an untouched folder that are no samples
    (SourceError). Empty unless errors are skipped."""

    errors: tuple[PenstockError, ...]
    """The first hundred of these errors, with their samples and files."""

    warned: int
    """Samples that gave pixels although the decoder warned about their data. Many: look at their source."""

    read_bytes: int
    """Encoded bytes of the samples read."""

    requested_bytes: int
    """Bytes asked of the medium. Well above read_bytes: much lies between the samples that nobody wants, or windows
    were read ahead of what was delivered. Near it: nothing is read in vain."""

    requests: int
    """Requests made for them. Many, of few bytes each: right for media that answer at once; on those that seek, or are
    far away, shuffle="window" makes them few and large."""

    stores: tuple[StoreStatistics, ...]
    """What reading from object stores has come to in this process, epochs before this one included."""

    caches: tuple[CacheStatistics, ...]
    """What has been asked of caches in this process, likewise."""

    wait_seconds: float
    """Time the consumer waited for batches. Near the whole time: loading sets the pace. Near 0: training does."""

    stages: tuple[StageStatistics, ...]
    """What each stage did with its time."""


@final
class Tally:
    """Counts of one iteration, added to by the threads of its stages."""

    def __init__(self, lost: Sequence[PenstockError] = ()) -> None:
        self._lock = threading.Lock()
        self._samples = 0
        self._lost = lost[:KEPT_ERRORS]  # of files that never became samples
        self._skipped = Counter(type(error).__name__ for error in lost)
        self._errors: list[tuple[int, PenstockError]] = []  # by sample
        self._warned = 0
        self._read_bytes = self._requested_bytes = self._requests = 0
        self._pipeline: weakref.ref[Pipeline] | None = None
        self._end: tuple[float, tuple[StageStatistics, ...]] = (0.0, ())

    def read(self, size_bytes: int, *, requests: int, requested_bytes: int) -> None:
        """Count bytes that were read, and what was asked for to get them."""
        with self._lock:
            self._read_bytes += size_bytes
            self._requests += requests
            self._requested_bytes += requested_bytes

    def made(self, samples: int, *, warned: int, errors: Mapping[int, PenstockError]) -> None:
        """Count a batch: its samples, and by number the errors of those that it lacks."""
        with self._lock:
            self._samples += samples
            self._warned += warned
            self._skipped.update(type(error).__name__ for error in errors.values())
            self._errors += list(errors.items())[: KEPT_ERRORS - len(self._errors)]

    def begin(self, pipeline: Pipeline) -> None:
        """Name the pipeline whose stages are meant. It is not kept alive."""
        self._pipeline = weakref.ref(pipeline)

    def end(self, pipeline: Pipeline) -> None:
        """Keep what the stages did; the pipeline is about to go."""
        self._end = (pipeline.wait_seconds, tuple(pipeline.statistics()))

    def statistics(
        self,
        complete: Callable[[Sequence[tuple[int, PenstockError]]], None],
        stores: Sequence[StoreStatistics],
        caches: Sequence[CacheStatistics],
    ) -> LoaderStatistics:
        """Sum up so far. `complete` adds to errors what is too dear to find out for each at once."""
        with self._lock:
            errors = tuple(self._errors)
        complete(errors)
        pipeline = None if self._pipeline is None else self._pipeline()
        wait_seconds, stages = self._end if pipeline is None else (pipeline.wait_seconds, tuple(pipeline.statistics()))
        with self._lock:
            return LoaderStatistics(
                samples=self._samples,
                skipped=dict(self._skipped),
                errors=(*self._lost, *(error for _, error in errors))[:KEPT_ERRORS],
                warned=self._warned,
                read_bytes=self._read_bytes,
                requested_bytes=self._requested_bytes,
                requests=self._requests,
                stores=tuple(stores),
                caches=tuple(caches),
                wait_seconds=wait_seconds,
                stages=stages,
            )
