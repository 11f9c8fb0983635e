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
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, final

import obstore

from penstock.errors import StorageError
from penstock.storage.link import Link, Taken
from penstock.storage.retry import Garbled, Verdict, ends_before, explained, judged, wait_seconds
from penstock.storage.throttle import Throttle
from penstock.storage.user_cache import SIZES, user_cache
from penstock.storage.watch import watch
from penstock.types import StoreStatistics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from penstock.storage.location import Requests

__all__ = ["Fetched", "Fetcher", "Flight", "ranged"]

HEDGED_SHARE = 0.05  # of all requests may be second ones, and a few more
HEDGED_FEW = 8
WHOLE_MOST_BYTES = 64 * 2**20  # of an object that is fetched whole because the server gives no ranges


@final
@dataclass(slots=True)
class _Counts:
    """What requests have come to; see `StoreStatistics`."""

    requests: int = 0
    bytes: int = 0
    retries: int = 0
    hedges: int = 0
    hedges_won: int = 0


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


class _Range(NamedTuple):
    """What one request is to bring."""

    name: str
    start: int
    stop: int
    size: int | None  # of the whole object, where that is known


class Fetched(NamedTuple):
    """A range that has come, and the ETag of its object."""

    body: memoryview
    etag: str | None


@final
class Fetcher:
    """Fetches from one store, an obstore client whose own retries are off."""

    def __init__(self, client: Any, place: str, requests: Requests) -> None:
        self._client, self.place, self.requests = client, place, requests
        self._flight = Flight(requests.in_flight, requests.in_flight_bytes)
        self._throttle = Throttle()
        self._draws = random.Random()  # noqa: S311  waits are to differ, not to be secret
        self._has_given_ranges = self._has_refused_ranges = False
        self.link, self._counts = Link(), _Counts()

    @property
    def refuses_ranges(self) -> bool:
        """Whether the server has answered requests for ranges with whole objects."""
        return self._has_refused_ranges and not self._has_given_ranges

    def statistics(self) -> StoreStatistics:
        """Tell what all requests have come to."""
        link = self.link
        return StoreStatistics(
            **asdict(self._counts),
            slowed=self._throttle.cuts,
            first_byte_seconds=link.first_byte_seconds,
            bytes_per_second=link.bytes_per_second,
            request_bytes=link.request_bytes,
        )

    async def fetch(self, name: str, start: int, stop: int, *, size: int | None = None) -> Fetched:
        """Fetch a range; fewer bytes where the object ends before. Raises StorageError.

        With a `size` also where the object has another.
        """
        wanted = _Range(name, start, stop, size)
        size_bytes = stop - start
        async with self._flight.room(size_bytes):
            deadline = time.monotonic() + self.requests.deadline_seconds
            attempt = 0
            while True:
                error: Exception
                try:
                    return await self._attempt(wanted, deadline)
                except Exception as raised:  # noqa: BLE001  judged and told, whatever it is
                    error = raised
                verdict, attempt = judged(error), attempt + 1
                if verdict is Verdict.NO_RANGES and not self._has_given_ranges:
                    self._has_refused_ranges = True
                    continue
                if verdict is Verdict.SLOWER:
                    self._throttle.complained(time.monotonic())
                wait = wait_seconds(attempt - 1, self._draws.random())
                if size is not None and ends_before(error):
                    raise self._other_size(wanted, f"at most {start:,} bytes" if start else "0 bytes") from None
                if verdict is Verdict.FINAL or time.monotonic() + wait >= deadline:
                    raise explained(error, f"{self.place}/{name}", attempts=attempt) from None
                self.repeat()
                await asyncio.sleep(wait)

    def repeat(self) -> None:
        """Count a request that is made again."""
        self._counts.retries += 1

    async def _attempt(self, wanted: _Range, deadline: float) -> Fetched:
        """Ask once, and a second time if that is late."""
        await asyncio.sleep(self._throttle.turn(time.monotonic()))
        patience = min(self.requests.attempt_seconds, max(deadline - time.monotonic(), 0.001))
        late = self.link.late_seconds(wanted.stop - wanted.start)
        asked = [asyncio.ensure_future(self._ask(wanted))]
        try:
            if late is not None and late < patience:
                done, _ = await asyncio.wait(asked, timeout=late)
                patience -= late
                if not done and self._may_hedge():
                    self._counts.hedges += 1
                    asked.append(asyncio.ensure_future(self._ask(wanted)))
            return await self._first_good(asked, patience)
        finally:
            for one in asked:
                if not one.done():
                    one.cancel()
                elif not one.cancelled():
                    one.exception()  # seen: the other one answered, or this is being raised

    async def _first_good(self, asked: Sequence[asyncio.Future[Fetched]], patience: float) -> Fetched:
        """Wait for the first answer that is one; where there is none, the last error."""
        ends = time.monotonic() + patience
        pending: set[asyncio.Future[Fetched]] = set(asked)
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
                    self._counts.hedges_won += one is not asked[0]
                    return one.result()
                error = found
        raise error

    def _may_hedge(self) -> bool:
        return self._counts.hedges < HEDGED_SHARE * self._counts.requests + HEDGED_FEW

    async def _ask(self, wanted: _Range) -> Fetched:
        """Make one request, and check what comes; tell whoever watches."""
        self._counts.requests += 1
        watching = watch.get()
        if watching is None:
            return await self._asked(wanted)
        began = time.monotonic()
        try:
            return await self._asked(wanted)
        finally:
            watching(wanted.name, wanted.stop - wanted.start, began, time.monotonic())

    async def _asked(self, wanted: _Range) -> Fetched:
        if self.refuses_ranges:
            return await self._part_of_whole(wanted)
        check = partial(self._check_size, wanted)
        found, taken = await ranged(self._client, wanted.name, wanted.start, wanted.stop, check_size=check)
        self._has_given_ranges = True
        self.link.note(taken)
        self._counts.bytes += len(found.body)
        return found

    def _check_size(self, wanted: _Range, size: int) -> None:
        """See that an object is the one that was indexed."""
        if wanted.size not in {None, size}:
            raise self._other_size(wanted, f"{size:,} bytes")

    def _other_size(self, wanted: _Range, got: str) -> StorageError:
        return StorageError(
            "the object has another size than when it was indexed",
            file=f"{self.place}/{wanted.name}",
            got=got,
            expected=f"{wanted.size:,}",
            hint=f"make the index anew (`penstock index`); where it has no sizes, delete {user_cache(SIZES)}",
        )

    async def _part_of_whole(self, wanted: _Range) -> Fetched:
        """Get a range from a server that gives none: the whole object, if that is not too large."""
        start, stop = wanted.start, wanted.stop
        answer = await obstore.get_async(self._client, wanted.name)
        size = int(answer.meta["size"])
        self._check_size(wanted, size)
        if size > max(WHOLE_MOST_BYTES, 4 * (stop - start)):
            raise StorageError(
                "the store gives no ranges, and the object is too large to be fetched for a part of it",
                file=f"{self.place}/{wanted.name}",
                got=f"{size:,} bytes",
                expected=f"at most {WHOLE_MOST_BYTES:,}",
                hint="`penstock probe` tells what an endpoint can do; copy the data to another, or to a disk",
            )
        body = memoryview(await answer.bytes_async())
        if len(body) != size:
            raise Garbled(f"the store sent {len(body)} bytes where it said {size}")
        self._counts.bytes += min(stop, size) - start
        return Fetched(body[start:stop], answer.meta["e_tag"])


async def ranged(
    client: Any, name: str, start: int, stop: int, *, check_size: Callable[[int], None] | None = None
) -> tuple[Fetched, Taken]:
    """Make one request for a range, and check what comes; it, and what it took."""
    began = time.monotonic()
    answer = await obstore.get_async(client, name, options={"range": (start, stop)})
    size = int(answer.meta["size"])
    if check_size is not None:
        check_size(size)
    first_byte = time.monotonic() - began
    body = memoryview(await answer.bytes_async())
    given = answer.range
    if given[0] != start or given[1] > stop:
        raise Garbled(f"the store sent bytes {given[0]}-{given[1]} instead of {start}-{stop}")
    if len(body) != given[1] - given[0]:
        raise Garbled(f"the store sent {len(body)} bytes where it said {given[1] - given[0]}")
    if given[1] < min(stop, size):
        raise Garbled(f"the store sent fewer bytes than it has: up to {given[1]} of {stop}")
    return Fetched(body, answer.meta["e_tag"]), Taken(len(body), first_byte, time.monotonic() - began)
