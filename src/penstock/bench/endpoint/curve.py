"""What the times of requests say: how large one should be, how many at a time are safe, and how many are of use. Pure.

A request costs the time to its first byte, whatever it asks for, so the rate of one connection grows with the size of
requests, and at some size has all but reached what it can be: the smallest with 90 % of the best rate is the best size,
because larger ones only make others wait. With the number of requests in flight it is the same: the smallest number
with 90 % of the best rate is of use, and more only wait in the server's queue.

A number is safe if up to it nothing went wrong: no error, no answer that asks for fewer requests, and no tail. In a
queue all requests take longer, which is no harm; a tail is when a twentieth of them take many times as long as most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.storage.link import Taken
    from penstock.storage.location import Requests

__all__ = ["LEVELS", "LevelPoint", "SizePoint", "Troubles", "advice", "best_size", "goes_on", "safe", "sizes", "useful"]

SIZES = tuple(4096 * 4**step for step in range(7))  # to 16 MiB
LEVELS = (1, 2, 4, 8, 16, 32, 64)
NEARLY = 0.9  # of the best rate
GROWS = 1.05
TAIL = 5.0  # times the median at this level, and the tail that one request alone has


@final
@dataclass(frozen=True, slots=True)
class SizePoint:
    """Requests of one size, one after another."""

    size_bytes: int
    requests: int
    first_byte_seconds: float  # median
    first_byte_p95_seconds: float
    seconds: float  # median
    p95_seconds: float

    @classmethod
    def of(cls, size_bytes: int, taken: Sequence[Taken]) -> SizePoint:
        """Sum up."""
        first, whole = [one.first_byte_seconds for one in taken], [one.seconds for one in taken]
        return cls(size_bytes, len(taken), *_median_and_p95(first), *_median_and_p95(whole))

    @property
    def bytes_per_second(self) -> float:
        """What one connection gives with such requests."""
        return self.size_bytes / max(self.seconds, 1e-9)


@final
@dataclass(frozen=True, slots=True)
class Troubles:
    """What went wrong with requests."""

    errors: int = 0
    slower: int = 0
    """Answers that ask for fewer requests: 503, 429."""


@final
@dataclass(frozen=True, slots=True)
class LevelPoint:
    """Requests of one size, so many at a time."""

    in_flight: int
    requests: int
    bytes_per_second: float  # of all together
    seconds: float  # of one, median
    p95_seconds: float
    troubles: Troubles = Troubles()

    @classmethod
    def of(cls, in_flight: int, taken: Sequence[Taken], *, elapsed: float, troubles: Troubles) -> LevelPoint:
        """Sum up."""
        rate = sum(one.size_bytes for one in taken) / max(elapsed, 1e-9)
        times = _median_and_p95([one.seconds for one in taken]) if taken else (0.0, 0.0)
        return cls(in_flight, len(taken), rate, *times, troubles)


def _median_and_p95(seconds: Sequence[float]) -> tuple[float, float]:
    middle, late = np.quantile(np.array(seconds), [0.5, 0.95])
    return float(middle), float(late)


def sizes(object_bytes: int) -> tuple[int, ...]:
    """Say which sizes of requests an object allows."""
    return tuple(size for size in SIZES if size <= object_bytes) or (object_bytes,)


def best_size(points: Sequence[SizePoint]) -> int:
    """Find the smallest size with nearly the best rate of one connection."""
    enough = NEARLY * max(point.bytes_per_second for point in points)
    return min(point.size_bytes for point in points if point.bytes_per_second >= enough)


def trouble(level: LevelPoint, alone: LevelPoint) -> str | None:
    """Say what went wrong at a level, if anything did; `alone` is the level of one request at a time."""
    if level.troubles.slower:
        return f"{level.troubles.slower} answers asked for fewer requests"
    if level.troubles.errors:
        return f"{level.troubles.errors} requests failed"
    if level.p95_seconds > TAIL * max(level.seconds, alone.p95_seconds):
        return f"a twentieth took more than {level.p95_seconds:.2f} s, most {level.seconds:.2f} s"
    return None


def safe(levels: Sequence[LevelPoint]) -> int | None:
    """Find the last level before the first trouble; None where one request at a time is trouble."""
    found = None
    for level in levels:
        if trouble(level, levels[0]):
            break
        found = level.in_flight
    return found


def useful(levels: Sequence[LevelPoint]) -> int | None:
    """Find the smallest level with nearly the best rate of those that are safe."""
    most = safe(levels) or 0
    rates = {level.in_flight: level.bytes_per_second for level in levels if level.in_flight <= most}
    enough = NEARLY * max(rates.values(), default=0.0)
    return min((in_flight for in_flight, rate in rates.items() if rate >= enough), default=None)


def goes_on(levels: Sequence[LevelPoint]) -> bool:
    """Say whether more requests at a time are worth a try: no trouble yet, and the last two tries brought something."""
    if trouble(levels[-1], levels[0]):
        return False
    rates = [level.bytes_per_second for level in levels]
    return len(rates) < 3 or max(rates[-2:]) > GROWS * max(rates[:-2])


def advice(levels: Sequence[LevelPoint], size_bytes: int, requests: Requests) -> tuple[dict[str, int], str]:
    """Say what to set in Requests, and why; nothing where the settings are well as they are.

    Settings allow so many requests in flight and so many bytes: with requests of a size, whichever comes first.
    """
    now = max(min(requests.in_flight, requests.in_flight_bytes // size_bytes), 1)
    most, enough = safe(levels), useful(levels)
    shown = f"penstock would have up to {now} requests of this size in flight"
    found = next(
        (f"{level.in_flight} in flight: {what}" for level in levels if (what := trouble(level, levels[0]))), ""
    )
    if most is None or enough is None:
        return {"in_flight": 1}, f"{shown}, but even with {found}"
    if found and now > most:
        return {"in_flight": most}, f"{shown}, but with {found}"
    if enough > now:
        given = {"in_flight": max(requests.in_flight, enough), "in_flight_bytes": enough * size_bytes}
        return given, f"{shown}, but {enough} are faster"
    return {}, f"{shown}, which is well: {enough} give nearly the best rate"
