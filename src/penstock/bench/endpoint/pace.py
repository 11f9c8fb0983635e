"""Requests against the clock, through the client that penstock loads data with: none repeated, none made twice.

First one at a time, sizes in turn, so that a network that gets slower meanwhile is slower for all sizes. Then of one
size, more and more at a time, until that brings nothing or does harm. All of it has bounds: requests, bytes, seconds.
Before the clock runs a level asks for a byte with as many requests, so that their connections are there.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from penstock.bench.endpoint import curve
from penstock.bench.endpoint.curve import LevelPoint, SizePoint, Troubles
from penstock.storage import runtime
from penstock.storage.link import Link
from penstock.storage.retry import Verdict, explained, judged

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.errors import StorageError
    from penstock.storage.link import Taken
    from penstock.storage.object import ObjectStore

__all__ = ["Curve", "measure"]

ROUNDS = 20
SIZE_MOST_BYTES = 64 * 2**20  # asked for with requests of one size
LEAST_REQUESTS = 3  # of a size, for a median; also at a level, each of those in flight
LEVEL_REQUESTS = 24  # at the least at a level
LEVEL_SIZE_BYTES = 2**20  # of its requests at the most: the highest level then asks for 192 MiB
SIZES_SHARE = 0.4  # of the time
ENOUGH_TROUBLES = 3  # to end a level
LATE = (TimeoutError, asyncio.TimeoutError)  # one and the same from Python 3.11 on


@final
@dataclass(slots=True)
class Curve:
    """How fast an endpoint answers."""

    sizes: list[SizePoint] = field(default_factory=list)
    levels: list[LevelPoint] = field(default_factory=list)
    level_bytes: int = 0
    """Of each request of the levels."""
    link_bytes: int | None = None
    """What penstock would have requests ask for, by what it has seen; None: it has seen too little."""
    error: StorageError | None = None
    """Why there is no more."""
    is_cut_short: bool = False
    """Whether the time was up."""


def measure(store: ObjectStore, name: str, size: int, *, ends: float, progress: Callable[[str], None]) -> Curve:
    """Measure with one object, until a moment of the monotonic clock."""
    return runtime.call(_measure(_Source(store, name, size), ends, progress))


@final
class _Source:
    """Requests for ranges of an object, drawn at random."""

    def __init__(self, store: ObjectStore, name: str, size: int) -> None:
        self._store, self._name, self.size = store, name, size
        self._draws = random.Random(0)  # noqa: S311  places in an object, not a secret

    async def ask(self, size_bytes: int, ends: float) -> Taken:
        """Make one request; TimeoutError when the time is up."""
        start = self._draws.randint(0, self.size - size_bytes)
        left = ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return await asyncio.wait_for(self._store.once(self._name, start, start + size_bytes), left)

    def explained(self, error: Exception) -> StorageError:
        """Say an error as ours."""
        return explained(error, f"{self._store.place}/{self._name}")


async def _measure(source: _Source, ends: float, progress: Callable[[str], None]) -> Curve:
    found, link = Curve(), Link()
    begins = time.monotonic()
    progress("one request at a time")
    try:
        found.sizes = await _sizes(source, link, begins + SIZES_SHARE * (ends - begins))
    except LATE:
        found.is_cut_short = True
        return found
    except Exception as error:  # noqa: BLE001  told, whatever it is
        found.error = source.explained(error)
        return found
    found.link_bytes = None if link.first_byte_seconds is None else link.request_bytes
    found.level_bytes = min(link.request_bytes, LEVEL_SIZE_BYTES, source.size)
    for in_flight in curve.LEVELS:
        progress(f"{in_flight} requests at a time")
        level = await _level(source, in_flight, found.level_bytes, ends)
        if level is None:
            found.is_cut_short = True
            break
        found.levels.append(level)
        if not curve.goes_on(found.levels):
            break
    return found


async def _sizes(source: _Source, link: Link, ends: float) -> list[SizePoint]:
    """Ask for sizes in turn."""
    await source.ask(1, ends)  # the connection
    taken: dict[int, list[Taken]] = {size: [] for size in curve.sizes(source.size)}
    for _ in range(ROUNDS):
        for size, before in taken.items():
            if len(before) >= LEAST_REQUESTS and (len(before) + 1) * size > SIZE_MOST_BYTES:
                continue
            try:
                one = await source.ask(size, ends)
            except LATE:
                break
            link.note(one)
            before.append(one)
    return [SizePoint.of(size, before) for size, before in taken.items() if before]


async def _level(source: _Source, in_flight: int, size: int, ends: float) -> LevelPoint | None:
    """Keep requests in flight; None where the time was up before there were enough of them."""
    left = max(LEAST_REQUESTS * in_flight, LEVEL_REQUESTS)
    taken: list[Taken] = []
    errors: list[Exception] = []
    is_late = False

    async def work() -> None:
        nonlocal left, is_late
        while left and not is_late and len(errors) < ENOUGH_TROUBLES:
            left -= 1
            try:
                taken.append(await source.ask(size, ends))
            except LATE as error:
                is_late = time.monotonic() >= ends
                if not is_late:
                    errors.append(error)
            except Exception as error:  # noqa: BLE001  counted, whatever it is
                errors.append(error)

    await asyncio.gather(*(source.ask(1, ends) for _ in range(in_flight)), return_exceptions=True)
    began = time.monotonic()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    elapsed = time.monotonic() - began
    if is_late and not errors and len(taken) < LEAST_REQUESTS * in_flight:
        return None
    slower = sum(judged(error) is Verdict.SLOWER for error in errors)
    return LevelPoint.of(in_flight, taken, elapsed=elapsed, troubles=Troubles(len(errors) - slower, slower))
