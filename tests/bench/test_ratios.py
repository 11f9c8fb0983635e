"""Standings and ratios."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench import ratios, standings
from penstock.bench.ratios import STUDENT_T, Ratio
from penstock.errors import FormatError
from tests.bench.results import result, run

RATES = st.floats(1, 1e6)


def test_the_fastest_median_stands_first_and_one_lucky_round_does_not_help():
    ranked = standings(result({"steady": [100, 101, 102], "lucky": [50, 50, 5000]}))
    assert [standing.peer for standing in ranked] == ["steady", "lucky"]
    assert ranked[0].rate == 101
    assert ranked[1].spread == pytest.approx(4950 / 50)


def test_a_peer_that_never_finished_stands_last_with_its_words():
    ranked = standings(result({"broken": [None, None], "slow": [1, 1]}))
    assert [standing.peer for standing in ranked] == ["slow", "broken"]
    assert ranked[1].rate is None
    assert "no such library" in ranked[1].failures[0]


def test_only_rounds_where_both_succeeded_are_compared():
    (ratio,) = ratios(result({"a": [200, None, 300], "b": [100, 100, None]}), "b")
    assert ratio.by_round == (2.0,)


def test_a_machine_that_slows_down_does_not_change_the_ratio():
    (ratio,) = ratios(result({"a": [400, 200, 100], "b": [200, 100, 50]}), "b")
    assert ratio.median == 2
    assert ratio.interval == pytest.approx((2, 2))


def test_peers_without_a_common_round_are_not_compared():
    assert ratios(result({"a": [1, None], "b": [None, 1]}), "b") == []


def test_two_rounds_give_no_interval():
    assert Ratio("a", "b", (1.0, 1.1)).interval is None


def test_the_interval_is_students_on_logarithms():
    ratio = Ratio("a", "b", (math.exp(-0.1), 1.0, math.exp(0.1)))
    half = STUDENT_T[1] * 0.1 / math.sqrt(3)
    assert ratio.interval == pytest.approx((math.exp(-half), math.exp(half)))


@given(st.lists(RATES, min_size=3, max_size=40), st.floats(0.1, 10))
def test_the_interval_scales_with_the_ratio_and_holds_its_geometric_mean(rounds, factor):
    ratio = Ratio("a", "b", tuple(rounds))
    low, high = ratio.interval
    mean = math.exp(sum(map(math.log, rounds)) / len(rounds))
    assert low <= mean * (1 + 1e-9)
    assert mean <= high * (1 + 1e-9)
    scaled = Ratio("a", "b", tuple(factor * value for value in rounds))
    assert scaled.interval == pytest.approx((low * factor, high * factor))


def test_costs_that_were_not_measured_stay_unknown():
    race = result({"a": [1.0]})
    race["runs"] = [run("a", 0, 1.0, cpu_seconds=None, memory_bytes=None)]
    (standing,) = standings(race)
    assert standing.cpu_seconds_per_thousand is None
    assert standing.memory_bytes is None


def test_a_result_of_another_kind_is_refused():
    with pytest.raises(FormatError, match="expected race format 1"):
        standings({"format": 2, "kind": "race"})
