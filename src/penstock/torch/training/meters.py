"""What a trainer says of its own speed and progress: totals over totals, and the longest stall.

An average of rates hides stalls, and so does an average over the last few steps. Here every average is a sum divided by
a count, over the whole epoch so far; beside it stands the value since the last line. `Data` is the time that the
trainer waited for a batch, `Time` that of whole steps. The line is the one that people know from PyTorch's examples:

    Epoch: [3][120/500]  Time 0.251 (0.262)  Data 0.001 (0.003)  Loss 3.9214 (4.0112)  Prec@1 … (…)  Prec@5 … (…)

with tabs between its parts, and at its end the longest wait of the epoch: `Stall 0.412 @17`, at step 17.

On a GPU the host runs ahead of the device, so single steps are not timed there; sums over an epoch are right, because
values are taken off the device at every line, which waits for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["Average", "Progress", "hours_left"]

T = TypeVar("T")


@dataclass(slots=True)
class Average:
    """A sum and a count, of the whole epoch and since the last line."""

    total: float = 0.0
    count: float = 0.0
    line_total: float = 0.0
    line_count: float = 0.0

    def add(self, total: float, count: float = 1.0) -> None:
        """Take in some more."""
        self.total += total
        self.count += count
        self.line_total += total
        self.line_count += count

    @property
    def value(self) -> float:
        """The average of the epoch."""
        return self.total / self.count if self.count else 0.0

    @property
    def latest(self) -> float:
        """The average since the last line."""
        return self.line_total / self.line_count if self.line_count else self.value

    def end_line(self) -> None:
        """Begin another line."""
        self.line_total = self.line_count = 0.0


@dataclass(slots=True)
class Progress:
    """One epoch as it goes: times of its steps, sums of its values."""

    name: str  # "Epoch: [3]", "Test: "
    steps: int
    clock: Callable[[], float] = time.perf_counter
    values: dict[str, Average] = field(default_factory=dict)
    step_time: Average = field(default_factory=Average)
    data_time: Average = field(default_factory=Average)
    stall_seconds: float = 0.0
    stall_step: int = 0
    samples: int = 0
    done: int = 0  # batches handed out
    at_step: Callable[[Progress], None] | None = None  # called after each step
    _began: float | None = None
    _begin: float = 0.0  # of the step, or of what of it is not in `step_time` yet
    _counts: int = 1  # that the rest of the step adds to the number of steps

    def timed(self, batches: Iterable[T]) -> Iterator[T]:
        """Yield batches; measure the waits for them, and the steps between."""
        iterator = iter(batches)
        self._began = begin = self.clock()
        while True:
            try:
                batch = next(iterator)
            except StopIteration:  # to learn that there are no more is to wait, too
                rest = self.clock() - begin
                self.data_time.add(rest, 0)
                self.step_time.add(rest, 0)
                return
            got = self.clock()
            self.data_time.add(got - begin)
            if got - begin > self.stall_seconds:
                self.stall_seconds, self.stall_step = got - begin, self.done
            self.done += 1
            self._begin, self._counts = begin, 1
            yield batch
            del batch
            end = self._lap()
            if self.at_step is not None:
                self.at_step(self)
            begin = end

    def _lap(self) -> float:
        """Count the step as far as it has come."""
        now = self.clock()
        self.step_time.add(now - self._begin, self._counts)
        self._begin, self._counts = now, 0
        return now

    def add(self, count: int, **totals: float) -> None:
        """Take in the values of some samples, as sums over them."""
        for name, total in totals.items():
            self.values.setdefault(name, Average()).add(total, count)

    @property
    def seconds(self) -> float:
        """How long the epoch has taken so far."""
        return 0.0 if self._began is None else self.clock() - self._began

    @property
    def stall_share(self) -> float:
        """The share of the time in which the trainer waited for data."""
        return self.data_time.total / self.step_time.total if self.step_time.total else 0.0

    def latest(self) -> dict[str, float]:
        """Give the values since the last line."""
        return {name: one.latest for name, one in self.values.items()}

    def line(self) -> str:
        """Say where the epoch is, and begin another line."""
        if self._counts and self.done:
            self._lap()  # this is within a step, which belongs to the line
        parts = [f"{self.name}[{self.done}/{self.steps}]"]
        times = {"Time": self.step_time, "Data": self.data_time}
        parts += [f"{name} {one.latest:.3f} ({one.value:.3f})" for name, one in times.items()]
        for name, one in self.values.items():
            digits = 4 if name.startswith("Loss") else 3
            parts.append(f"{name} {one.latest:.{digits}f} ({one.value:.{digits}f})")
        parts.append(f"Stall {self.stall_seconds:.3f} @{self.stall_step}")
        for one in (*times.values(), *self.values.values()):
            one.end_line()
        return "\t".join(parts)

    def summary(self) -> dict[str, Any]:
        """Give the epoch's figures, for a log."""
        return {
            "steps": self.done,
            "samples": self.samples,
            "seconds_taken": self.step_time.total,
            "samples_per_second": self.samples / self.step_time.total if self.step_time.total else 0.0,
            "data_seconds": self.data_time.total,
            "stall_share": self.stall_share,
            "longest_stall_seconds": self.stall_seconds,
            "longest_stall_step": self.stall_step,
            **{name: one.value for name, one in self.values.items()},
        }

    def state_dict(self) -> dict[str, Any]:
        """Give the sums so far, so that the epoch's averages are those of the whole epoch after a resume, too."""
        times = {"Time": self.step_time, "Data": self.data_time}
        return {
            "times": {name: [one.total, one.count] for name, one in times.items()},
            "values": {name: [one.total, one.count] for name, one in self.values.items()},
            "stall": [self.stall_seconds, self.stall_step],
            "samples": self.samples,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from the sums of another process."""
        self.step_time, self.data_time = (Average(*state["times"][name]) for name in ("Time", "Data"))
        self.values = {name: Average(*sums) for name, sums in state["values"].items()}
        self.stall_seconds, self.stall_step = state["stall"]
        self.samples = state["samples"]


def hours_left(seconds: float, done: float, total: float) -> float:
    """Expect so many hours until a run ends of which `done` epochs took so many seconds."""
    return seconds / done * max(total - done, 0.0) / 3600 if done else float("inf")
