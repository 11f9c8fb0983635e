"""A trace as JSON that Perfetto, chrome://tracing and their kin open.

Every thread of a stage is a track of its own, the consumer's on top: what it worked on, and between that what it waited
for. Arrows lead from the work on a batch to the next work on it, and to the wait that it ended. Counters say how many
finished batches lay after each stage. Requests, which overlap, are drawn as asynchronous slices.

Slices of one track may only follow one another or nest: those who draw them draw all else wrong. So iterations that
ran at the same time get tracks of their own, and so do spans of the training loop.
"""

from __future__ import annotations

import gzip
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.pipeline.trace import CONSUMER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.pipeline.trace import Lanes, Span, Trace

__all__ = ["as_json", "write_trace"]

WITHIN = 0.001  # microseconds before a slice's end: the place where an arrow leaves it
OWN = "training loop"


def as_json(trace: Trace) -> dict[str, Any]:
    """Translate a trace."""
    return _Drawing(trace).whole()


def write_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace; compressed where the name ends with .gz."""
    data = json.dumps(as_json(trace), separators=(",", ":")).encode()
    Path(path).write_bytes(gzip.compress(data, 6) if os.fspath(path).endswith(".gz") else data)


class _Drawing:
    """Tracks are given out, then spans are laid on them."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self._pid = trace, os.getpid()
        self._origin, unix = trace.began_at
        self._spans, self._runs = trace.spans, {lanes.run: lanes for lanes in trace.runs}
        self._groups = self._grouped()
        self._tracks: dict[tuple[int, str], int] = {}  # by group (-1: the user's own) and lane
        self._about = {
            "tool": "penstock",
            "began_unix_seconds": unix,
            "began_monotonic_seconds": self._origin,
            "dropped_spans": trace.dropped,
        }

    def whole(self) -> dict[str, Any]:
        """Draw everything."""
        for run in self._runs.values():
            for lane in (CONSUMER, *(lane for _, lanes in run.stages for lane in lanes)):
                self._track(self._groups[run.run], lane)
        events = [*self._slices(), *self._arrows(), *self._counters()]
        events.sort(key=lambda event: event["ts"])
        return {"displayTimeUnit": "ms", "otherData": self._about, "traceEvents": [*self._names(), *events]}

    def _grouped(self) -> dict[int, int]:
        """Give iterations that ran at the same time different groups of tracks; others share them."""
        ends: dict[int, float] = {}
        for span in self._spans:
            ends[span.run] = max(ends.get(span.run, 0.0), span.ended)
        free: list[float] = []  # by group: when its latest iteration ended
        groups = {}
        for run in self._runs.values():
            group = next((number for number, end in enumerate(free) if end <= run.began), len(free))
            free[group : group + 1] = [ends.get(run.run, run.began)]
            groups[run.run] = group
        return groups

    def _track(self, group: int, lane: str) -> int:
        return self._tracks.setdefault((group, lane), len(self._tracks) + 1)

    def _us(self, at: float) -> float:
        return round((at - self._origin) * 1e6, 3)

    def _event(self, kind: str, name: str, at: float, track: int, **other: Any) -> dict[str, Any]:
        return {"ph": kind, "name": name, "ts": at, "pid": self._pid, "tid": track, **other}

    def _names(self) -> Iterator[dict[str, Any]]:
        yield self._event("M", "process_name", 0, 0, args={"name": "penstock"})
        for (group, lane), track in self._tracks.items():
            words = f"{OWN}: {lane}" if group < 0 else lane + (f" ({group + 1})" if group else "")
            yield self._event("M", "thread_name", 0, track, args={"name": words})
            yield self._event("M", "thread_sort_index", 0, track, args={"sort_index": track})

    def _on(self, span: Span) -> int:
        return self._track(self._groups.get(span.run, -1), span.lane)

    def _slices(self) -> Iterator[dict[str, Any]]:
        for number, span in enumerate(self._spans):
            began, ended = self._us(span.began), self._us(span.ended)
            args: dict[str, Any] = {"batch": span.item} if span.item >= 0 else {}
            if span.run >= 0:
                args["iteration"] = span.run
            if span.kind == "loose":
                about = {"cat": span.lane, "id": number}
                yield self._event("b", span.name, began, 0, args=args, **about)
                yield self._event("e", span.name, ended, 0, **about)
            else:
                yield self._event(
                    "X", span.name, began, self._on(span), dur=round(ended - began, 3), cat=span.kind, args=args
                )

    def _arrows(self) -> Iterator[dict[str, Any]]:
        """Lead from each work on a batch to the next, and to the wait that the batch ended."""
        at: dict[tuple[int, int], dict[str, Span]] = {}
        for span in self._spans:
            if span.item >= 0 and span.kind in {"work", "wait"}:
                at.setdefault((span.run, span.item), {})[CONSUMER if span.kind == "wait" else span.name] = span
        for (run, item), places in at.items():
            path = [places[stage] for stage in _stages(self._runs[run]) if stage in places]
            for number, (one, other) in enumerate(pairwise(path)):
                about = {"cat": "batch", "id": f"{run}.{item}.{number}"}
                leaves = max(self._us(one.ended) - WITHIN, self._us(one.began))
                # A wait is ended by its batch, a work is begun with it.
                arrives = other.began if other.kind == "work" else other.ended
                lands = self._us(arrives) - (WITHIN if other.kind == "wait" else 0.0)
                yield self._event("s", f"batch {item}", round(leaves, 3), self._on(one), **about)
                lands = round(max(lands, self._us(other.began)), 3)
                yield self._event("f", f"batch {item}", lands, self._on(other), bp="e", **about)

    def _counters(self) -> Iterator[dict[str, Any]]:
        for count in self._trace.counts:
            run, group = self._runs[count.run], self._groups[count.run]
            for (stage, _), many in zip(run.stages, count.waiting, strict=True):
                name = f"batches after {stage}" + (f" ({group + 1})" if group else "")
                yield self._event("C", name, self._us(count.at), 0, args={"waiting": many})


def _stages(run: Lanes) -> tuple[str, ...]:
    return (*(stage for stage, _ in run.stages), CONSUMER)
