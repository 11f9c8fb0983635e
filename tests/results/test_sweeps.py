"""Heat-maps and knees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.results.sweeps import curves, grids, knee
from tests.results.made import sweep


@pytest.mark.parametrize(
    ("levels", "values", "at"),
    [
        ([1, 2, 4, 8], [100, 200, 400, 800], 8),
        ([1, 2, 4, 8], [100, 195, 370, 380], 4),
        ([1, 2, 4], [100, 110, 400], 1),  # what comes later does not make good for what was not worth it
        ([4, 1, 2], [370, 100, 195], 4),  # in any order
        ([1, 2], [100, None], None),
        ([1], [100], None),
    ],
)
def test_the_knee_is_the_last_level_worth_going_to(levels, values, at):
    assert knee(levels, values) == at


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=6), st.floats(0.1, 10))
def test_the_knee_does_not_hang_on_the_unit(values, factor):
    levels = [2**number for number in range(len(values))]
    assert knee(levels, [factor * value for value in values]) == knee(levels, values) or min(values) < 2


def test_a_curve_for_each_system_and_the_medians_along_it():
    study = sweep({("a", 1): [10, 12, 11], ("a", 2): [20], ("b", 1): [5], ("b", 2): [None]})
    one, other = curves(study, "workers")
    assert (one.values, one.knee) == ((11, 20), 2)
    assert (other.values, other.knee) == ((5, None), None)
    with pytest.raises(UsageError, match="nothing of this name was varied: got colour, expected workers"):
        curves(study, "colour")
    with pytest.raises(UsageError, match="nothing of this name"):
        grids(study, "workers", "colour")
