"""What a stage was doing with its time, in three numbers whose meaning is written beside them.

A stage's threads are always in one of three states, so busy + starved + blocked is the threads' whole time. To find
what limits a pipeline, look for the stage that is hardly starved and hardly blocked: it is the one that works all the
time. Stages before it are blocked, stages after it are starved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

__all__ = ["StageStatistics"]


@final
@dataclass(frozen=True, slots=True)
class StageStatistics:
    """One stage's time, summed over its threads."""

    name: str
    """The stage's name."""

    threads: int
    """How many threads the stage has."""

    items: int
    """How many items it has finished."""

    busy_seconds: float
    """Time spent in the stage's own work. High, near all of the time: this stage sets the pace. Low: it waits."""

    starved_seconds: float
    """Time spent waiting for the stage before. High: the stages before are too slow. Low: there was always work."""

    blocked_seconds: float
    """Time spent waiting for room in the queue after, or for memory that what comes after still uses. High: what comes
    after is slower, which is as it should be where that is the training step. Low: whatever was finished was taken at
    once."""

    occupancy: float
    """Share of the queue after the stage that was full, on average, when something was taken from it. Near 1: whoever
    takes is the slower one and never waits. Near 0: the queue is always empty and whoever takes is starved."""
