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
    from collections.abc import Callable, Iterable, Iterator

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
    _began: float | None = None

    def timed(self, batches: Iterable[T]) -> Iterator[T]:
        """Yield batches; measure the waits for them, and the steps between."""
        iterator = iter(batches)
        self._began = begin = self.clock()
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                return
            got = self.clock()
            self.data_time.add(got - begin)
            if got - begin > self.stall_seconds:
                self.stall_seconds, self.stall_step = got - begin, self.done
            self.done += 1
            yield batch
            del batch
            end = self.clock()
            self.step_time.add(end - begin)
            begin = end

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

    def line(self) -> str:
        """Say where the epoch is, and begin another line."""
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
            "seconds": self.step_time.total,
            "samples_per_second": self.samples / self.step_time.total if self.step_time.total else 0.0,
            "data_seconds": self.data_time.total,
            "stall_share": self.stall_share,
            "longest_stall_seconds": self.stall_seconds,
            "longest_stall_step": self.stall_step,
            **{name: one.value for name, one in self.values.items()},
        }


def hours_left(seconds: float, done: float, total: float) -> float:
    """Expect so many hours until a run ends of which `done` epochs took so many seconds."""
    return seconds / done * max(total - done, 0.0) / 3600 if done else float("inf")
