"""A line's arithmetic, and that waiting for it takes as long as it should."""

from __future__ import annotations

import asyncio
import math

from hypothesis import given
from hypothesis import strategies as st

from penstock.testing.faults.line import LATE_SECONDS, Line, Pace, continued


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 5)), min_size=1), st.floats(1e3, 1e9))
def test_a_line_never_carries_more_than_its_rate(pieces, rate):
    """In any order of arrival: from when the first is ready, the last is out after all their bytes at the rate."""
    line = Line(rate)
    finishes = [line.reserve(count, ready) for count, ready in pieces]
    assert finishes == sorted(finishes)
    for number, (count, ready) in enumerate(pieces):
        rest = sum(count for count, _ in pieces[number:])
        assert finishes[number] >= ready + count / rate - 1e-9
        assert finishes[-1] >= ready + rest / rate - 1e-9 * len(pieces)


def test_connections_that_share_a_line_keep_it_busy_and_time_without_work_is_lost():
    line = Line(1000)
    assert [line.reserve(100, 0.0) for _ in range(4)] == [0.1, 0.2, 0.30000000000000004, 0.4]
    assert line.reserve(100, 10.0) == 10.1


def test_a_late_timer_loses_nothing_and_a_late_sender_loses_its_time():
    line, finish, now = Line(1000), 0.0, 0.0
    for _ in range(100):
        finish = line.reserve(10, continued(finish, now))
        now = finish + 0.9 * LATE_SECONDS  # the timer
    assert math.isclose(finish, 1.0)
    assert continued(1.0, 3.0) == 3.0 - LATE_SECONDS


def test_a_body_takes_as_long_as_its_slowest_line():
    async def spend() -> list[float]:
        clock = asyncio.get_running_loop().time
        begin = clock()
        pace = Pace([Line(100_000), Line(50_000), Line(51_000)])
        took = []
        for _ in range(5):
            await pace.wait_for(1000)
            took.append(clock() - begin)
        return took

    took = asyncio.run(spend())
    assert all(seconds >= 0.02 * number for number, seconds in enumerate(took, start=1))
