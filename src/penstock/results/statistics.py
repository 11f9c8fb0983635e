"""What numbers of blocks say: pure functions, no result in sight.

Two cells are compared within blocks: d = ln(a/b), one number per block. The mean of d, and its 95 % interval by
Student's t, become a ratio by exp; whether it could be chance is asked by flipping the signs of d in every way there is
(2^n), which assumes nothing about how d is spread. With five blocks no such p can be below 1/16, with six 1/32, with
eight 1/128: hence eight are the default, and fewer than five are called a look.

One cell alone is the median of its blocks, with an interval by bootstrap over blocks, never a deviation of batches:
batches of one run hang together.
"""

from __future__ import annotations

import math
import random
from itertools import product
from statistics import NormalDist, fmean, median, stdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "blocks_needed",
    "bootstrap_interval",
    "drift",
    "holm",
    "log_ratio_interval",
    "mean_of_logs",
    "outliers",
    "sign_flip_p",
    "student_t",
]

# Student's t, two-sided 95 %, by degrees of freedom from 1.
_T95 = (
    *(12.706, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448),
    *(2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484),
    *(2.0452, 2.0423),
)
FEWEST_FOR_INTERVAL = 3
MOST_FLIPPED = 16  # blocks; beyond, signs are drawn
DRAWS = 10_000
OUTLIER_Z = 14.826  # ten times the deviation that the median deviation stands for


def student_t(freedom: int) -> float:
    """Give Student's t for a two-sided 95 % interval."""
    if freedom < 1:
        raise ValueError("at least one degree of freedom")
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z = NormalDist().inv_cdf(0.975)  # Cornish and Fisher's expansion, good to four digits from here on
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def mean_of_logs(ratios: Sequence[float]) -> float:
    """Give the geometric mean of ratios."""
    return math.exp(fmean(map(math.log, ratios)))


def log_ratio_interval(ratios: Sequence[float]) -> tuple[float, float] | None:
    """Give the 95 % interval of the geometric mean of ratios; None with fewer than three: no inference from so few."""
    if len(ratios) < FEWEST_FOR_INTERVAL:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    half = student_t(len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def sign_flip_p(ratios: Sequence[float], *, seed: int = 0) -> float:
    """Give the share of all ways to flip the signs of ln(ratio) whose sum is as far from zero: two-sided, exact."""
    logs = [math.log(ratio) for ratio in ratios]
    seen = abs(math.fsum(logs)) * (1 - 1e-12) - 1e-12  # so that rounding does not leave the data themselves out
    if len(logs) <= MOST_FLIPPED:
        flips = product((1, -1), repeat=len(logs))
        sums = [abs(math.fsum(sign * d for sign, d in zip(signs, logs, strict=True))) for signs in flips]
        return sum(total >= seen for total in sums) / len(sums)
    draws = random.Random(seed)  # noqa: S311 statistics, no secret
    far = sum(abs(math.fsum(d if draws.random() < 0.5 else -d for d in logs)) >= seen for _ in range(DRAWS))
    return (far + 1) / (DRAWS + 1)


def bootstrap_interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float] | None:
    """Give the 95 % interval of the median, by drawing blocks anew; None with fewer than five."""
    if len(values) < 5:
        return None
    draws = random.Random(seed)  # noqa: S311 statistics, no secret
    medians = sorted(median(draws.choices(values, k=len(values))) for _ in range(DRAWS))
    return medians[int(0.025 * DRAWS)], medians[int(0.975 * DRAWS) - 1]


def holm(ps: Sequence[float]) -> list[float]:
    """Correct several p of one table after Holm: each times the number of those not smaller, never falling."""
    order = sorted(range(len(ps)), key=lambda number: ps[number])
    corrected, floor = [0.0] * len(ps), 0.0
    for rank, number in enumerate(order):
        floor = max(floor, min(1.0, ps[number] * (len(ps) - rank)))
        corrected[number] = floor
    return corrected


def blocks_needed(ratios: Sequence[float], half_width: float) -> int | None:
    """Guess how many blocks would make half the interval as narrow as this (0.02: 2 %); None from fewer than three."""
    if len(ratios) < FEWEST_FOR_INTERVAL or half_width <= 0:
        return None
    scatter, wanted = stdev(map(math.log, ratios)), math.log1p(half_width)
    for blocks in range(FEWEST_FOR_INTERVAL, 1000):
        if student_t(blocks - 1) * scatter / math.sqrt(blocks) <= wanted:
            return blocks
    return 1000


def outliers(values: Sequence[float]) -> list[int]:
    """List the positions of values that lie ten deviations from the median; they are told, and kept."""
    if len(values) < FEWEST_FOR_INTERVAL:
        return []
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    return [n for n, value in enumerate(values) if spread and abs(value - middle) / spread > OUTLIER_Z]


def drift(values: Sequence[float]) -> float | None:
    """Give the slope per block of ln(value) where its 95 % interval excludes zero; None where it does not."""
    if len(values) < FEWEST_FOR_INTERVAL + 1:
        return None
    logs, times = [math.log(value) for value in values], range(len(values))
    middle, mean = fmean(times), fmean(logs)
    spread = math.fsum((t - middle) ** 2 for t in times)
    slope = math.fsum((t - middle) * (y - mean) for t, y in zip(times, logs, strict=True)) / spread
    rest = math.fsum((y - mean - slope * (t - middle)) ** 2 for t, y in zip(times, logs, strict=True))
    error = math.sqrt(rest / (len(values) - 2) / spread)
    return slope if abs(slope) > student_t(len(values) - 2) * error else None
