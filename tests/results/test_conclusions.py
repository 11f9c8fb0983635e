"""Standings, comparisons, verdicts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.results import band, compared, slowest, standings, verdict
from tests.results.made import race, run, sweep


def test_the_best_median_stands_first_and_one_lucky_block_does_not_help():
    ranked = standings(race({"steady": [100, 101, 102], "lucky": [50, 50, 5000]}))
    assert [standing.cell for standing in ranked] == ["steady", "lucky"]
    assert ranked[0].middle == 101
    assert ranked[1].spread == pytest.approx(4950 / 50)
    assert ranked[1].outliers == ()


def test_where_less_is_better_the_least_stands_first():
    assert [one.cell for one in standings(race({"a": [10], "b": [20]}), "seconds")] == ["a", "b"]
    latency = race({"a": [1], "b": [1]})
    runs = tuple(replace(run, values={"first_batch_seconds": 2.0 if run.cell == "a" else 1.0}) for run in latency.runs)
    assert [one.cell for one in standings(replace(latency, runs=runs), "first_batch_seconds")] == ["b", "a"]


def test_a_system_that_never_finished_stands_last_with_its_words():
    ranked = standings(race({"broken": [None, None], "slow": [1, 1]}))
    assert [standing.cell for standing in ranked] == ["slow", "broken"]
    assert ranked[1].middle is None
    assert ranked[1].failures == ("failed: ImportError: no such library",) * 2


def test_only_blocks_where_both_succeeded_are_compared():
    (found,) = compared(race({"a": [200, None, 300], "b": [100, 100, None]}), "b")
    assert found.ratios == (2.0,)
    assert compared(race({"a": [1, None], "b": [None, 1]}), "b") == []


def test_a_machine_that_slows_down_does_not_change_the_ratio():
    (found,) = compared(race({"a": [400, 200, 100, 50, 25], "b": [200, 100, 50, 25, 12.5]}), "b")
    assert (found.middle, found.verdict) == (2, "faster")
    assert found.interval == pytest.approx((2, 2))


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        ([1.5, 1.51, 1.49, 1.5, 1.52], "faster"),
        ([0.5, 0.51, 0.49, 0.5, 0.52], "slower"),
        ([1.0, 1.004, 0.996, 1.002, 0.998], "same"),
        ([1.0, 1.3, 0.8, 1.1, 0.9], "inconclusive"),
        ([1.015, 1.02, 1.018, 1.016, 1.021], "inconclusive"),  # more than 1, but within the band in part
        ([1.5, 1.51, 1.49, 1.5], "inconclusive"),  # four blocks conclude nothing
    ],
)
def test_the_words(ratios, word):
    (found,) = compared(race({"a": [100 * ratio for ratio in ratios], "b": [100] * len(ratios)}), "b")
    assert found.verdict == word
    assert (found.blocks_needed is not None) == (word == "inconclusive")


def test_less_seconds_are_faster():
    assert verdict((0.5, 0.6), 5, 0.02, "less") == "faster"
    assert verdict((1.5, 1.6), 5, 0.02, "less") == "slower"


def test_a_quick_result_concludes_nothing():
    quick = race({"a": [200] * 5, "b": [100] * 5}, is_quick=True)
    assert compared(quick, "b")[0].verdict == "inconclusive"


def test_what_twins_differ_by_means_nothing_for_the_others_either():
    rates = {"a": [108, 107, 109, 108, 108], "b": [100] * 5}
    assert compared(race(rates), "b")[0].verdict == "faster"
    noisy = race({**rates, "b#2": [110, 90, 110, 92, 99]})
    assert band(noisy) > 0.08
    assert {one.cell: one.verdict for one in compared(noisy, "b")}["a"] == "inconclusive"


def test_systems_are_compared_at_the_same_levels_and_cells_with_any_other():
    study = sweep({("a", 1): [10], ("a", 2): [20], ("b", 1): [5], ("b", 2): [5]})
    assert {one.cell: (one.against, one.middle) for one in compared(study, "b")} == {
        "a, workers 1": ("b, workers 1", 2),
        "a, workers 2": ("b, workers 2", 4),
    }
    assert {one.cell: one.middle for one in compared(study, "a, workers 1")} == {
        "a, workers 2": 2,
        "b, workers 1": 0.5,
        "b, workers 2": 0.5,
    }


def test_without_a_word_the_slowest_that_finished_is_compared_with():
    assert slowest(race({"a": [3], "b": [1], "c": [None]})) == "b"
    assert slowest(race({"c": [None]})) is None
    assert compared(race({"c": [None]})) == []


def test_nothing_of_that_name_is_refused():
    with pytest.raises(UsageError, match="got c, expected one of a, b"):
        compared(race({"a": [1], "b": [1]}), "c")


def test_the_estimator_of_means_of_rates_is_not_ours():
    """One wait of 800 ms and seven of 1 ms, eight batches of 64: the truth is 634 samples/s, a mean of rates 56,000."""
    times = [0.8, *[0.001] * 7]
    truth = 64 * len(times) / math.fsum(times)
    measured = replace(race({"a": [1]}), runs=(run("a", 0, truth),))
    assert standings(measured)[0].middle == pytest.approx(634.5, rel=0.01)


@given(st.lists(st.floats(1, 1e6), min_size=5, max_size=8), st.floats(0.2, 5))
def test_a_verdict_turns_round_with_the_comparison(rates, factor):
    study = race({"a": [factor * rate for rate in rates], "b": rates})
    words = compared(study, "b")[0].verdict, compared(study, "a")[0].verdict
    assert words in {("faster", "slower"), ("slower", "faster"), ("same", "same"), ("inconclusive", "inconclusive")}
