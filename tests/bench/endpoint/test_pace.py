"""Requests against the clock: where they end, and what they make of servers that have enough."""

from __future__ import annotations

import asyncio
import math
import time

import numpy as np
import pytest

from penstock.bench.endpoint import curve
from penstock.bench.endpoint.pace import measure
from penstock.storage.link import Taken
from penstock.storage.object import ObjectStore

MIB = 2**20


class Pretender:
    """A store that says what it took: 10 ms, then 100 MB/s; with more than `most` requests at a time it has enough."""

    place = "s3://pretended"

    def __init__(self, most=math.inf, says=""):
        self.most, self.says = most, says
        self.at_a_time = 0
        self.asked = []

    async def once(self, name, start, stop):
        self.asked.append((start, stop))
        self.at_a_time += 1
        try:
            await asyncio.sleep(0)
            if self.at_a_time > self.most:
                raise RuntimeError(self.says)
            return Taken(stop - start, 0.01, 0.01 + (stop - start) / 100e6)
        finally:
            self.at_a_time -= 1


def measured(store, size=64 * MIB, *, seconds=60.0, name="object"):
    said = []
    found = measure(store, name, size, ends=time.monotonic() + seconds, progress=said.append)
    assert said[0] == "one request at a time"
    return found


def test_sizes_and_the_choice_of_penstock_follow_from_the_times():
    store = Pretender()
    found = measured(store)
    assert [point.size_bytes for point in found.sizes] == list(curve.SIZES)
    assert [point.requests for point in found.sizes] == [20, 20, 20, 20, 20, 16, 4]
    assert curve.best_size(found.sizes) == 16 * MIB
    assert found.link_bytes == pytest.approx(2e6, rel=0.01)  # twice the time to the first byte
    assert found.level_bytes == MIB
    assert found.error is None
    assert not found.is_cut_short
    assert all(0 <= start < stop <= 64 * MIB for start, stop in store.asked)


@pytest.mark.parametrize(
    ("says", "kind"), [("status code: 503 Service Unavailable: ", "slower"), ("connection reset", "errors")]
)
def test_requests_that_are_too_many_end_the_levels(says, kind):
    found = measured(Pretender(most=1, says=says))
    assert [level.in_flight for level in found.levels] == [1, 2]
    troubles = found.levels[1].troubles
    assert getattr(troubles, kind) >= 3
    assert troubles.slower + troubles.errors == getattr(troubles, kind)
    assert (curve.safe(found.levels), curve.useful(found.levels)) == (1, 1)


def test_when_the_time_is_up_there_is_what_there_is():
    found = measured(Pretender(), seconds=-1.0)
    assert found.is_cut_short
    assert (found.sizes, found.levels) == ([], [])


def test_a_store_that_does_not_answer_is_left_when_the_time_is_up():
    class Silent(Pretender):
        async def once(self, name, start, stop):
            if len(self.asked) >= 30:
                await asyncio.Event().wait()
            return await super().once(name, start, stop)

    found = measured(Silent(), seconds=0.5)
    assert found.sizes
    assert found.is_cut_short


def test_an_object_that_is_smaller_than_any_size_is_read_whole():
    found = measured(Pretender(), 17)
    assert [point.size_bytes for point in found.sizes] == [17]
    assert found.level_bytes == 17


def test_a_real_server_has_a_curve(nginx):
    (nginx.folder / "curve").write_bytes(np.random.default_rng(0).bytes(MIB))
    found = measured(ObjectStore(nginx.endpoint), MIB, name="curve")
    assert [point.size_bytes for point in found.sizes] == [4096 * 4**step for step in range(5)]
    assert all(0 < point.first_byte_seconds <= point.seconds <= point.p95_seconds for point in found.sizes)
    assert [level.in_flight for level in found.levels] == list(curve.LEVELS[: len(found.levels)])
    assert len(found.levels) >= 1
    assert all(level.requests >= 24 for level in found.levels)


def test_what_cannot_be_read_is_an_error_in_our_words(nginx):
    found = measured(ObjectStore(nginx.endpoint), MIB, name="not-there")
    assert found.error is not None
    assert found.error.what == "there is no such object"
    assert found.sizes == []
