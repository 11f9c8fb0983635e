"""Room for requests in flight: many at a time, never more than that, in requests and in bytes; who waits is served."""

import asyncio
from contextlib import AsyncExitStack, suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.fetch import Flight
from penstock.storage.location import Access, Requests
from penstock.storage.object import ObjectStore
from penstock.storage.ranges import plan_reads
from penstock.testing.faults import FaultProxy, Profile
from tests.stores import allow


async def flown(flight, sizes):
    """Take room for each size, all at once, and hold it a few turns of the loop; the most there was of each."""
    most = [0, 0]

    async def one(size):
        async with flight.room(size):
            most[0], most[1] = max(most[0], flight.requests), max(most[1], flight.bytes)
            for _ in range(3):
                await asyncio.sleep(0)

    await asyncio.gather(*(one(size) for size in sizes))
    assert (flight.requests, flight.bytes) == (0, 0)
    return most


@given(st.integers(1, 20), st.integers(1, 60))
def test_as_many_fly_at_a_time_as_there_is_room_for(requests, count):
    most = asyncio.run(flown(Flight(requests, 10_000), [1] * count))
    assert most == [min(requests, count)] * 2


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(1, 10), st.integers(1, 400))
def test_never_more_fly_than_there_is_room_for_unless_one_alone_is_larger(sizes, requests, size_bytes):
    most = asyncio.run(flown(Flight(requests, size_bytes), sizes))
    assert most[0] <= requests
    assert most[1] <= max(size_bytes, *sizes)


def test_the_room_of_whoever_gave_up_waiting_is_given_to_the_next():
    async def run():
        flight = Flight(1, 100)
        async with AsyncExitStack() as held:
            await held.enter_async_context(flight.room(10))
            waiting = [asyncio.ensure_future(flown_one(flight)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            with suppress(asyncio.CancelledError):
                await waiting[0]
        return await asyncio.wait_for(asyncio.gather(*waiting[1:]), 10), flight.requests

    async def flown_one(flight):
        async with flight.room(5):
            return flight.requests

    assert asyncio.run(run()) == ([1, 1], 0)


@pytest.mark.parametrize("in_flight", [1, 16])
def test_a_plan_has_as_many_requests_on_their_way_as_are_allowed(seaweedfs, monkeypatch, in_flight):
    allow(monkeypatch, seaweedfs)
    url, count = f"s3://{seaweedfs.bucket}/in-flight", 64
    near = ObjectStore(url, Access(endpoint=seaweedfs.endpoint))
    names = [f"{at:03d}" for at in range(count)]
    for name in names:
        near.write(name, name.encode() * 100)
    plan = plan_reads(np.arange(count, dtype=np.int32), np.zeros(count, np.int64), np.full(count, 300))
    block = np.empty(plan.block_bytes, np.uint8)
    with FaultProxy(seaweedfs.host, seaweedfs.port, Profile(latency_seconds=0.1)) as proxy:
        far = ObjectStore(url, Access(endpoint=proxy.endpoint, requests=Requests(in_flight=in_flight)))
        assert far.begin(names, plan, block).failures() == []
        # Each is used again for the next request; one that is not free yet just then is replaced.
        assert in_flight <= proxy.counts.connections <= in_flight + 3
    assert block.tobytes() == b"".join(name.encode() * 100 for name in names)
