"""Statistics of blocks, against sums done by hand and against what must hold for any numbers."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.results import statistics

RATIOS = st.lists(st.floats(0.01, 100), min_size=3, max_size=10)


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706), (4, 2.7764), (7, 2.3646), (30, 2.0423), (31, 2.0395), (60, 2.0003), (120, 1.9799)]
)
def test_students_t_is_that_of_the_tables(freedom, t):
    assert statistics.student_t(freedom) == pytest.approx(t, abs=1e-4)


def test_no_degree_of_freedom_gives_no_t():
    with pytest.raises(ValueError, match="at least one"):
        statistics.student_t(0)


def test_two_blocks_give_no_interval_and_equal_ones_no_width():
    assert statistics.log_ratio_interval([1.0, 1.1]) is None
    assert statistics.log_ratio_interval([2.0, 2.0, 2.0]) == pytest.approx((2.0, 2.0))


def test_the_interval_is_students_on_logarithms():
    half = 4.3027 * 0.1 / math.sqrt(3)
    found = statistics.log_ratio_interval([math.exp(-0.1), 1.0, math.exp(0.1)])
    assert found == pytest.approx((math.exp(-half), math.exp(half)))


@given(RATIOS, st.floats(0.1, 10))
def test_the_interval_scales_holds_the_geometric_mean_and_turns_with_the_ratio(ratios, factor):
    low, high = statistics.log_ratio_interval(ratios)
    assert low * (1 - 1e-9) <= statistics.mean_of_logs(ratios) <= high * (1 + 1e-9)
    assert statistics.log_ratio_interval([factor * r for r in ratios]) == pytest.approx((low * factor, high * factor))
    assert statistics.log_ratio_interval([1 / r for r in ratios]) == pytest.approx((1 / high, 1 / low))


def test_the_interval_holds_the_truth_nineteen_times_of_twenty():
    draws = random.Random(1)
    held = 0
    for _ in range(2000):
        low, high = statistics.log_ratio_interval([math.exp(draws.gauss(0.3, 0.05)) for _ in range(5)])
        held += low <= math.exp(0.3) <= high
    assert 0.935 < held / 2000 < 0.965


@pytest.mark.parametrize("blocks", [1, 3, 5, 8])
def test_if_all_blocks_agree_p_is_the_smallest_that_so_many_blocks_can_give(blocks):
    assert statistics.sign_flip_p([2.0 + n / 10 for n in range(blocks)]) == 2 / 2**blocks


@given(RATIOS)
def test_p_does_not_know_who_is_compared_with_whom(ratios):
    p = statistics.sign_flip_p(ratios)
    assert 0 < p <= 1
    assert p == statistics.sign_flip_p([1 / ratio for ratio in ratios]) or any(abs(math.log(r)) < 1e-9 for r in ratios)


def test_ratios_that_are_one_are_no_evidence_and_many_blocks_are_drawn():
    assert statistics.sign_flip_p([1.0] * 4) == 1
    assert statistics.sign_flip_p([1.5 + n / 100 for n in range(20)]) < 0.001
    balanced = [1.5, 1 / 1.5] * 10
    assert statistics.sign_flip_p(balanced) == pytest.approx(1.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_makes_p_smaller_nor_larger_than_bonferroni(ps):
    corrected = statistics.holm(ps)
    for p, after in zip(ps, corrected, strict=True):
        assert p <= after <= min(1.0, p * len(ps)) + 1e-12
    order = sorted(range(len(ps)), key=lambda n: ps[n])
    assert [corrected[n] for n in order] == sorted(corrected)


def test_holm_by_hand():
    assert statistics.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@given(st.lists(st.floats(1, 100), min_size=5, max_size=12))
def test_the_bootstrap_interval_lies_within_the_values_and_is_the_same_each_time(values):
    low, high = statistics.bootstrap_interval(values)
    assert min(values) <= low <= high <= max(values)
    assert statistics.bootstrap_interval(values) == (low, high)


def test_four_blocks_give_no_interval_of_a_median():
    assert statistics.bootstrap_interval([1.0, 2.0, 3.0, 4.0]) is None


def test_more_blocks_are_needed_for_a_narrower_interval():
    ratios = [1.0, 1.02, 0.98, 1.01]
    needed = [statistics.blocks_needed(ratios, half) for half in (0.1, 0.02, 0.005)]
    assert needed == sorted(needed)
    assert needed[0] < needed[-1]
    assert statistics.blocks_needed(ratios[:2], 0.02) is None


def test_the_blocks_needed_are_enough():
    ratios = [1.0, 1.02, 0.98, 1.01]
    needed = statistics.blocks_needed(ratios, 0.01)
    low, high = statistics.log_ratio_interval([r for n, r in zip(range(needed), ratios * needed, strict=False)])
    assert high / low < 1.0101**2


def test_one_wild_value_is_told_and_ordinary_ones_are_not():
    assert statistics.outliers([100, 101, 99, 100, 5]) == [4]
    assert statistics.outliers([100, 101, 99, 98, 102]) == []
    assert statistics.outliers([1, 100]) == []


@given(st.floats(-0.2, 0.2), st.integers(4, 12))
def test_a_steady_drift_is_found_with_its_slope(slope, blocks):
    assume(abs(slope) > 1e-3)
    assert statistics.drift([100 * math.exp(slope * n) for n in range(blocks)]) == pytest.approx(slope, rel=1e-3)


def test_noise_is_no_drift():
    assert statistics.drift([100, 103, 98, 101, 99, 102]) is None
    assert statistics.drift([1, 2, 3]) is None
