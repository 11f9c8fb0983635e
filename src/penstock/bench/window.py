"""Take batches from a loader as a training step would, and note how long each was waited for.

The window opens when the first batch is asked for and closes when the last is delivered; thinking (the step's own
work) follows every batch. Thinking is sleeping for a nominal time; below a millisecond it is spinning, because sleep
wakes up too late for so little. What it took beyond the nominal is overshoot: on a machine whose processors are busy
loading, a sleeper wakes up late, and to book that as useful work would flatter the loader.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.results import Steps, waits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Window", "consume", "values"]

SPIN_BELOW_SECONDS = 1e-3
STALL_SECONDS = 1e-3  # a wait shorter than this is no stall, whatever the step takes
STALL_OF_THINKING = 0.05


@dataclass(frozen=True, slots=True)
class Window:
    """What taking some batches came to."""

    seconds: float
    wait_seconds: tuple[float, ...]  # of each step
    think_seconds: tuple[float, ...]  # of each step, as measured; empty when it did not think
    samples: tuple[int, ...]
    is_whole: bool  # whether the loader had no more


def think(seconds: float) -> float:
    """Be busy, or asleep, for so long; how long that really was."""
    begin = time.perf_counter()
    if seconds >= SPIN_BELOW_SECONDS:
        time.sleep(seconds)
    else:
        while time.perf_counter() - begin < seconds:
            pass
    return time.perf_counter() - begin


def consume(
    batches: Iterator[Any],
    take: Callable[[Any], int],
    *,
    think_seconds: float = 0.0,
    step: Callable[[Any], None] | None = None,
    most_batches: int | None = None,
    most_seconds: float | None = None,
) -> Window:
    """Take batches until there are no more, or enough, or the time is up. `take` says how many samples a batch has.

    `step` is what is done with a batch besides: a real model's step; or nothing is done for `think_seconds`.
    """
    waited, thought, samples = list[float](), list[float](), list[int]()
    is_whole, now = False, time.perf_counter()
    begin = end = now
    while most_batches is None or len(samples) < most_batches:
        asked = now
        try:
            batch = next(batches)
        except StopIteration:
            is_whole = True
            break
        end = now = time.perf_counter()
        waited.append(now - asked)
        samples.append(take(batch))
        if step is not None:
            asked = time.perf_counter()
            step(batch)
            thought.append(time.perf_counter() - asked)
        elif think_seconds:
            thought.append(think(think_seconds))
        now = time.perf_counter()
        if thought:
            end = now
        if most_seconds is not None and now - begin >= most_seconds:
            break
    return Window(end - begin, tuple(waited), tuple(thought), tuple(samples), is_whole)


def steps(windows: list[Window]) -> Steps:
    """Put the steps of some windows one after another."""
    return Steps(
        wait_seconds=tuple(round(one, 7) for window in windows for one in window.wait_seconds),
        think_seconds=tuple(round(one, 7) for window in windows for one in window.think_seconds),
        samples=tuple(count for window in windows for count in window.samples),
    )


def values(windows: list[Window], *, think_seconds: float = 0.0, workers: int = 0) -> dict[str, float]:
    """Compute the metrics of some windows taken together: totals by totals, and shares of the waits."""
    seconds = math.fsum(window.seconds for window in windows)
    waited = [one for window in windows for one in window.wait_seconds]
    thought = math.fsum(one for window in windows for one in window.think_seconds)
    samples, batches = sum(sum(window.samples) for window in windows), len(waited)
    if not batches or not seconds:
        return {}
    histogram = waits.count(waited)
    found: dict[str, float] = {
        "samples": samples,
        "seconds": seconds,
        "samples_per_second": samples / seconds,
        "batches_per_second": batches / seconds,
        "longest_wait_seconds": histogram.longest_seconds,
        "stall_share": histogram.total_seconds / seconds,
    }
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
        value = waits.percentile(histogram, share)
        if value is not None and batches >= 1 / (1 - share + 1e-9) / 2:  # no p99 of ten steps
            found[f"wait_{name}_seconds"] = value
    limit = max(STALL_SECONDS, STALL_OF_THINKING * (thought / batches))
    found["stalled_steps_share"] = sum(one > limit for one in waited) / batches
    score = period_score(waited, workers)
    if score is not None:
        found["worker_period_score"] = score
    if think_seconds:
        nominal = think_seconds * batches
        found["accelerator_use"] = nominal / seconds
        found["overshoot_share"] = max(0.0, thought - nominal) / seconds
    return found


def period_score(waited: list[float], workers: int) -> float | None:
    """Correlate waits with those `workers` steps before: near 1 where every n-th batch is slow, n being the workers.

    None for one worker, too few steps, or waits that are all the same.
    """
    if workers < 2 or len(waited) < 4 * workers:
        return None
    mean = math.fsum(waited) / len(waited)
    apart = [one - mean for one in waited]
    total = math.fsum(one * one for one in apart)
    if total <= 0:
        return None
    return math.fsum(a * b for a, b in zip(apart, apart[workers:], strict=False)) / total
