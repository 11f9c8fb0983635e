"""Scales."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.report.plots.scale import linear, logarithmic, ticks


@given(st.floats(1e-6, 1e9))
def test_ticks_begin_at_zero_reach_the_top_and_are_few(top):
    marks = ticks(top)
    assert marks[0] == 0
    assert marks[-1] >= top * (1 - 1e-6)
    assert 2 <= len(marks) <= 7
    assert all(a < b for a, b in itertools.pairwise(marks))


@given(st.floats(1e-6, 1e6), st.floats(1.0, 1e9))
def test_a_logarithmic_scale_holds_its_numbers_and_has_few_marks(low, times):
    scale = logarithmic(low, low * times, 10.0, 500.0)
    assert scale.low <= low * (1 + 1e-6)
    assert scale.high >= low * times * (1 - 1e-6)
    assert 1 <= len(scale.marks) <= 8
    assert all(10 - 1e-6 <= scale.place(mark) <= 500 + 1e-6 for mark in scale.marks)


@given(st.floats(1e-3, 1e6), st.floats(0, 1), st.floats(0, 1))
def test_more_lies_further_along(top, one, other):
    scale = linear(top, 0.0, 300.0)
    a, b = sorted((one * top, other * top))
    assert scale.place(a) <= scale.place(b)


def test_a_logarithmic_scale_has_no_zero():
    with pytest.raises(ValueError, match="above zero"):
        logarithmic(0.0, 1.0, 0.0, 1.0)
