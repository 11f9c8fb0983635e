"""Histograms of waits."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.results import waits

TIMES = st.lists(st.floats(0, 1e3), min_size=1, max_size=60)


@given(st.floats(0, 1e4))
def test_a_wait_falls_into_the_class_whose_edges_hold_it(seconds):
    number = waits.class_of(seconds)
    assert seconds <= waits.upper_edge(number) * (1 + 1e-9)
    if number:
        assert seconds >= waits.upper_edge(number - 1) * (1 - 1e-9)


@given(TIMES, st.floats(0.01, 1))
def test_a_percentile_is_at_most_a_class_above_the_true_one(times, share):
    true = sorted(times)[math.ceil(share * len(times)) - 1]
    found = waits.percentile(waits.count(times), share)
    assert true * (1 - 1e-9) <= found <= max(true * 2 ** (1 / 8), 1e-6) * (1 + 1e-9)


@given(TIMES, TIMES)
def test_histograms_add_up(one, other):
    both, added = waits.count(one + other), waits.added([waits.count(one), waits.count(other)])
    assert added.counts == both.counts
    assert added.total_seconds == pytest.approx(both.total_seconds)
    assert added.longest_seconds == both.longest_seconds


def test_the_longest_wait_is_known_by_its_step_and_nothing_has_no_percentile():
    assert waits.count([0.1, 0.7, 0.2]).longest_step == 1
    assert waits.percentile(waits.count([]), 0.5) is None
