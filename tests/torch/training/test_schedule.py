"""Learning rates: where each policy begins and ends, what warm-up does, and that none leaves its bounds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.torch.training import POLICIES, Schedule


def test_a_cosine_begins_at_the_base_rate_is_half_way_in_the_middle_and_ends_at_the_end_rate():
    schedule = Schedule("cosine", 0.2, 90, end=0.02)
    assert schedule.rate(0) == 0.2
    assert schedule.rate(45) == pytest.approx(0.11)
    assert schedule.rate(90) == pytest.approx(0.02)


def test_steps_come_where_those_of_ninety_epochs_are_known_to():
    schedule = Schedule("step", 1.0, 90)
    rates = [schedule.rate(epoch) for epoch in (0, 29.9, 30, 59.9, 60, 79.9, 80, 90)]
    assert rates == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01, 0.001, 0.001])


def test_a_line_is_straight_and_a_power_has_the_same_factor_for_each_epoch():
    assert Schedule("linear", 1.0, 10).rate(2.5) == 0.75
    powers = [Schedule("exponential", 1.0, 30).rate(epoch) for epoch in (0, 10, 20, 30)]
    assert powers == pytest.approx([1, 0.1, 0.01, 0.001])


def test_warm_up_rises_from_nothing_and_the_policy_runs_over_the_rest():
    schedule = Schedule("cosine", 0.4, 10, warmup=2)
    assert [schedule.rate(epoch) for epoch in (0, 1, 2)] == pytest.approx([0, 0.2, 0.4])
    assert schedule.rate(6) == pytest.approx(0.2)


SHARES = st.tuples(st.floats(0, 0.9), st.floats(0, 1), st.floats(0, 2))


@given(st.sampled_from(POLICIES), st.floats(1e-4, 10), st.floats(1, 300), SHARES)
def test_no_rate_leaves_its_bounds(policy, base, epochs, shares):
    warmup, end, at = shares
    schedule = Schedule(policy, base, epochs, warmup=warmup * epochs, end=end * base)
    rate = schedule.rate(at * epochs)
    assert 0 <= rate <= base * (1 + 1e-12)
    assert at < warmup or rate >= end * base * (1 - 1e-12)
    assert math.isfinite(rate)


def test_nonsense_is_refused():
    with pytest.raises(UsageError, match="the policy is unknown"):
        Schedule("zigzag", 0.1, 10)
    with pytest.raises(UsageError, match="warm-up is a part of the run"):
        Schedule("cosine", 0.1, 10, warmup=10)
