"""What is learnt of the way to a store: request sizes that make the first byte cheap, and when an answer is late."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.link import ENOUGH, LEAST_BYTES, LEAST_LATE_SECONDS, MOST_BYTES, REMEMBERED, Link, Taken


def learnt(first, rate, sizes=(2**20,), count=ENOUGH):
    """A link over which `count` requests went, each exactly as long as first byte and rate make it."""
    link = Link()
    for number in range(count):
        size = sizes[number % len(sizes)]
        link.note(Taken(size, first, first + size / rate))
    return link


def test_nothing_is_known_before_there_were_some_requests():
    link = learnt(0.1, 50e6, count=ENOUGH - 1)
    assert (link.first_byte_seconds, link.bytes_per_second, link.late_seconds(1000)) == (None, None, None)
    assert LEAST_BYTES <= link.request_bytes <= MOST_BYTES


@given(first=st.floats(1e-4, 1), rate=st.floats(1e5, 1e9), size=st.integers(1, 2**24))
def test_first_byte_and_rate_are_found(first, rate, size):
    link = learnt(first, rate, sizes=(size,))
    assert link.first_byte_seconds == pytest.approx(first)
    assert link.bytes_per_second == pytest.approx(rate, rel=1e-2) or size / rate < 1e-5, "a time too short to see"


def test_far_and_fast_wants_large_requests_and_near_or_slow_wants_small_ones():
    assert learnt(0.1, 20e6).request_bytes == pytest.approx(2 * 0.1 * 20e6)
    assert learnt(0.001, 20e6).request_bytes == LEAST_BYTES
    assert learnt(0.1, 1e6).request_bytes == LEAST_BYTES
    assert learnt(0.2, 100e6).request_bytes == MOST_BYTES


@given(first=st.floats(1e-3, 1), rate=st.floats(1e6, 1e9), sizes=st.lists(st.integers(1, 2**23), min_size=1))
def test_what_takes_as_long_as_all_others_is_not_late(first, rate, sizes):
    link = learnt(first, rate, sizes=tuple(sizes), count=REMEMBERED)
    assert all(link.late_seconds(size) > first + size / rate for size in sizes)
    assert link.late_seconds(0) >= LEAST_LATE_SECONDS


def test_a_few_stragglers_do_not_make_lateness_the_rule():
    link = Link()
    for number in range(REMEMBERED):
        link.note(Taken(100_000, 0.1, 5.0 if number % 50 == 0 else 0.101))
    assert link.late_seconds(100_000) < 0.5


def test_what_was_long_ago_is_forgotten():
    link = learnt(1.0, 1e6, count=REMEMBERED)
    for _ in range(REMEMBERED + ENOUGH):
        link.note(Taken(2**20, 0.01, 0.02))
    assert link.first_byte_seconds == pytest.approx(0.01)
