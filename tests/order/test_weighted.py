"""Weighted draws come as often as their weights say, any of them by itself, and are pinned."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.order.weighted import WeightedOrder

WEIGHTS = st.lists(st.floats(0, 1e9), min_size=1, max_size=40).filter(any)


def order(weights, *, n=1000, key=5):
    return WeightedOrder(n, key, np.cumsum(np.array(weights, np.float64)))


def whole(one):
    return one.at(np.arange(len(one)))


@given(WEIGHTS, st.integers(0, 2**64 - 1))
def test_only_samples_with_a_weight_are_drawn(weights, key):
    drawn = np.unique(whole(order(weights, key=key)))
    assert set(drawn.tolist()) <= {number for number, weight in enumerate(weights) if weight}


@given(WEIGHTS, st.lists(st.integers(0, 999)))
def test_any_draw_can_be_had_by_itself(weights, positions):
    one = order(weights)
    assert np.array_equal(one.at(np.array(positions, np.int64)), whole(one)[positions])


def test_samples_come_as_often_as_their_weights_say():
    weights = np.array([0, 1, 2, 3, 4, 0, 90])
    counts = np.bincount(whole(order(weights, n=100_000)), minlength=7)
    expected = weights * 1000
    deviation = np.sqrt(expected * (1 - weights / 100)) + 1e-9
    assert (np.abs(counts - expected) < 5 * deviation).all()


def test_draws_do_not_depend_on_one_another():
    drawn = whole(order([1, 1], n=100_000))
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 5 / np.sqrt(100_000)


def test_the_draws_are_pinned():
    assert whole(order([1, 2, 3, 4], n=12, key=42)).tolist() == PINNED


PINNED = [1, 2, 1, 1, 3, 3, 1, 2, 1, 2, 0, 1]
