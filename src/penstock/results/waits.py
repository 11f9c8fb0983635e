"""Waits as a histogram of logarithmic classes, so that those of many runs or ranks can be added up. Pure.

Class 0 holds waits below a microsecond; class n > 0 those from 2^((n-1)/8) to 2^(n/8) microseconds, so that a
percentile read from it is at most 9 % off. The total and the longest wait are kept as they were.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from penstock.results.result import Waits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["added", "class_of", "count", "percentile", "upper_edge"]

PER_OCTAVE = 8
FINEST_SECONDS = 1e-6


def class_of(seconds: float) -> int:
    """Give the number of the class that a wait falls into."""
    if seconds < FINEST_SECONDS:
        return 0
    return 1 + math.floor(math.log2(seconds / FINEST_SECONDS) * PER_OCTAVE)


def upper_edge(number: int) -> float:
    """Give the seconds at which a class ends."""
    return FINEST_SECONDS * math.pow(2.0, number / PER_OCTAVE)


def count(waits: Sequence[float]) -> Waits:
    """Count waits into classes."""
    longest = max(waits, default=0.0)
    return Waits(
        counts=dict(sorted(Counter(map(class_of, waits)).items())),
        total_seconds=math.fsum(waits),
        longest_seconds=longest,
        longest_step=waits.index(longest) if waits else 0,
    )


def added(parts: Iterable[Waits]) -> Waits:
    """Add histograms up; the step of the longest wait is counted within its own part."""
    counts: Counter[int] = Counter()
    total, longest, step = 0.0, 0.0, 0
    for part in parts:
        counts.update(part.counts)
        total += part.total_seconds
        if part.longest_seconds > longest:
            longest, step = part.longest_seconds, part.longest_step
    return Waits(counts=dict(sorted(counts.items())), total_seconds=total, longest_seconds=longest, longest_step=step)


def percentile(waits: Waits, share: float) -> float | None:
    """Read how long this share of the waits lasted at most; None where nothing was counted.

    It is the end of the class that the wait falls into, and never more than the longest wait.
    """
    total = sum(waits.counts.values())
    if not total:
        return None
    rank, seen = max(1, math.ceil(share * total)), 0
    for number in sorted(waits.counts):
        seen += waits.counts[number]
        if seen >= rank:
            return min(upper_edge(number), waits.longest_seconds)
    return waits.longest_seconds
