"""Fetching: ranges of objects, many at a time, each until it is there, is hopeless, or has run out of time.

    wait for room in flight (so many requests, so many bytes), and for a turn, where the server wants fewer
    ask; where that takes longer than it should, ask a second time and take what comes first
    see that what came is what was asked for; if not, wait a little and ask again

Everything here runs in the thread of requests (runtime.py). What it learns about the way to the store is in `link`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import obstore

from penstock.storage.link import Link, Taken
from penstock.storage.retry import BadBody, Verdict, explained, judged, wait_seconds
from penstock.storage.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from penstock.storage.location import Requests

__all__ = ["FetchStatistics", "Fetcher", "Flight", "ranged"]

HEDGED_SHARE = 0.05  # of all requests may be second ones, and a few more
HEDGED_FEW = 8
WHOLE_MOST_BYTES = 64 * 2**20  # of an object that is fetched whole because the server gives no ranges


@final
@dataclass(slots=True)
class FetchStatistics:
    """What requests to a store have come to so far."""

    requests: int = 0
    """Requests made, second ones and repeated ones included."""

    bytes: int = 0
    """Bytes that arrived and were used."""

    retries: int = 0
    """Requests that were made again after an error. Many: look at the network, or the server is too busy."""

    hedges: int = 0
    """Second requests for what was late. Near a twentieth of all: the store's answers take very different times."""

    hedges_won: int = 0
    """How many of these were answered first."""

    slowed: int = 0
    """How often the server asked for fewer requests. Any: it limits you, not the network."""


@final
class Flight:
    """Room for requests in flight: so many, and so many bytes. First come, first served."""

    def __init__(self, requests: int, size_bytes: int) -> None:
        self._requests, self._bytes = requests, size_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.requests = self.bytes = 0  # in flight

    @asynccontextmanager
    async def room(self, size_bytes: int) -> AsyncIterator[None]:
        """Wait for room; it is taken until the block ends."""
        if self._waiting or not self._fits(size_bytes):
            ticket = asyncio.get_running_loop().create_future()
            self._waiting.append((size_bytes, ticket))
            try:
                await ticket
            except asyncio.CancelledError:
                if ticket.done() and not ticket.cancelled():
                    self._leave(size_bytes)
                raise
        else:
            self._enter(size_bytes)
        try:
            yield
        finally:
            self._leave(size_bytes)

    def _fits(self, size_bytes: int) -> bool:
        return self.requests == 0 or (self.requests < self._requests and self.bytes + size_bytes <= self._bytes)

    def _enter(self, size_bytes: int) -> None:
        self.requests += 1
        self.bytes += size_bytes

    def _leave(self, size_bytes: int) -> None:
        self.requests -= 1
        self.bytes -= size_bytes
        while self._waiting and (self._waiting[0][1].done() or self._fits(self._waiting[0][0])):
            size_bytes, ticket = self._waiting.popleft()
            if not ticket.done():  # done: whoever waited was cancelled
                self._enter(size_bytes)
                ticket.set_result(None)


@final
class Fetcher:
    """Fetches from one store, an obstore client whose own retries are off."""

    def __init__(self, client: Any, place: str, requests: Requests) -> None:
        self._client, self._place, self._requests = client, place, requests
        self._flight = Flight(requests.in_flight, requests.in_flight_bytes)
        self._throttle = Throttle()
        self._draws = random.Random()  # noqa: S311  waits are to differ, not to be secret
        self._gives_ranges = True
        self.link, self.statistics = Link(), FetchStatistics()

    async def fetch(self, name: str, start: int, stop: int) -> memoryview:
        """Fetch a range; fewer bytes where the object ends before. Raises StorageError."""
        size_bytes = stop - start
        async with self._flight.room(size_bytes):
            deadline = time.monotonic() + self._requests.deadline_seconds
            attempt = 0
            while True:
                error: Exception
                try:
                    return await self._attempt(name, start, stop, deadline)
                except Exception as raised:  # noqa: BLE001  judged and told, whatever it is
                    error = raised
                verdict, attempt = judged(error), attempt + 1
                if verdict is Verdict.NO_RANGES and self._gives_ranges:
                    self._gives_ranges = False
                    continue
                if verdict is Verdict.SLOWER:
                    self._throttle.complained(time.monotonic())
                    self.statistics.slowed = self._throttle.cuts
                wait = wait_seconds(attempt - 1, self._draws.random())
                is_hopeless = verdict in {Verdict.FINAL, Verdict.NO_RANGES}
                if is_hopeless or time.monotonic() + wait >= deadline:
                    raise explained(error, f"{self._place}/{name}", attempts=attempt) from None
                self.statistics.retries += 1
                await asyncio.sleep(wait)

    async def _attempt(self, name: str, start: int, stop: int, deadline: float) -> memoryview:
        """Ask once, and a second time if that is late."""
        await asyncio.sleep(self._throttle.turn(time.monotonic()))
        patience = min(self._requests.attempt_seconds, max(deadline - time.monotonic(), 0.001))
        late = self.link.late_seconds(stop - start)
        asked = [asyncio.ensure_future(self._ask(name, start, stop))]
        try:
            if late is not None and late < patience:
                done, _ = await asyncio.wait(asked, timeout=late)
                patience -= late
                if not done and self._may_hedge():
                    self.statistics.hedges += 1
                    asked.append(asyncio.ensure_future(self._ask(name, start, stop)))
            return await self._first_good(asked, patience)
        finally:
            for one in asked:
                if not one.done():
                    one.cancel()
                elif not one.cancelled():
                    one.exception()  # seen: the other one answered, or this is being raised

    async def _first_good(self, asked: Sequence[asyncio.Future[memoryview]], patience: float) -> memoryview:
        """Wait for the first answer that is one; where there is none, the last error."""
        ends = time.monotonic() + patience
        pending: set[asyncio.Future[memoryview]] = set(asked)
        error: BaseException = TimeoutError()
        while pending:
            done, pending = await asyncio.wait(
                pending, timeout=max(ends - time.monotonic(), 0), return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                raise TimeoutError
            for one in done:
                found = one.exception()
                if found is None:
                    self.statistics.hedges_won += one is not asked[0]
                    return one.result()
                error = found
        raise error

    def _may_hedge(self) -> bool:
        return self.statistics.hedges < HEDGED_SHARE * self.statistics.requests + HEDGED_FEW

    async def _ask(self, name: str, start: int, stop: int) -> memoryview:
        """Make one request, and check what comes."""
        self.statistics.requests += 1
        if not self._gives_ranges:
            return await self._part_of_whole(name, start, stop)
        body, taken = await ranged(self._client, name, start, stop)
        self.link.note(taken)
        self.statistics.bytes += len(body)
        return body

    async def _part_of_whole(self, name: str, start: int, stop: int) -> memoryview:
        """Get a range from a server that gives none: the whole object, if that is not too large."""
        answer = await obstore.get_async(self._client, name)
        size = int(answer.meta["size"])
        if size > max(WHOLE_MOST_BYTES, 4 * (stop - start)):
            raise BadBody(f"the store gives no ranges, and the object has {size:,} bytes")
        body = memoryview(await answer.bytes_async())
        if len(body) != size:
            raise BadBody(f"the store sent {len(body)} bytes where it said {size}")
        self.statistics.bytes += min(stop, size) - start
        return body[start:stop]


async def ranged(client: Any, name: str, start: int, stop: int) -> tuple[memoryview, Taken]:
    """Make one request for a range, and check what comes; the bytes, and what it took."""
    began = time.monotonic()
    answer = await obstore.get_async(client, name, options={"range": (start, stop)})
    first_byte = time.monotonic() - began
    body = memoryview(await answer.bytes_async())
    given = answer.range
    if given[0] != start or given[1] > stop:
        raise BadBody(f"the store sent bytes {given[0]}-{given[1]} instead of {start}-{stop}")
    if len(body) != given[1] - given[0]:
        raise BadBody(f"the store sent {len(body)} bytes where it said {given[1] - given[0]}")
    if given[1] < min(stop, answer.meta["size"]):
        raise BadBody(f"the store sent fewer bytes than it has: up to {given[1]} of {stop}")
    return body, Taken(len(body), first_byte, time.monotonic() - began)
