"""The memory budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.pipeline.budget import MAX_DEPTH, Later, Load, depth_within

LATER = st.none() | st.builds(Later, st.integers(0, 10**8), st.integers(0, 10**8))
LOADS = st.builds(Load, st.integers(1, 10**8), st.integers(1, 10**8), st.integers(1, 4), st.integers(0, 10**8), LATER)


@given(LOADS, st.integers(0, 10**10))
def test_the_depth_is_the_largest_that_fits(load, spare_bytes):
    memory_bytes = load.bytes_at(1) + spare_bytes
    depth = depth_within(memory_bytes, load)
    assert load.bytes_at(depth) <= memory_bytes
    assert depth == MAX_DEPTH or load.bytes_at(depth + 1) > memory_bytes


@given(LOADS)
def test_a_budget_below_the_least_says_how_much_is_needed(load):
    with pytest.raises(UsageError, match=f"at least {load.bytes_at(1):,}"):
        depth_within(load.bytes_at(1) - 1, load)


def test_everything_in_flight_is_counted():
    load = Load(encoded_bytes=1000, decoded_bytes=1, calls=2)
    assert load.bytes_at(3) == 6 * 1000 + 7  # three wait, one is read, two are decoded; three, two, and two in use
