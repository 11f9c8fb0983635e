"""Findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.results import Cache
from penstock.results.validity import findings
from tests.results.made import race, run

FIVE = [100.0, 101, 100, 99, 100]
OTHER_PIXELS = (run("a", 0, 1, raw={"levels": [9, 9, 9]}), run("b", 0, 1, raw={"levels": [9, 9, 99]}))
COLD = Cache(asked="cold", found="cold")


def names(result):
    return [finding.name for finding in findings(result)]


def with_runs(result, **changes):
    return replace(result, runs=tuple(replace(run, **changes) for run in result.runs))


def test_a_good_race_leaves_nothing_to_say():
    slow = {"seconds": 60.0, "samples_per_second": 100.0}
    assert names(with_runs(race({"a": FIVE, "b": FIVE}), values=slow)) == []


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (race({"a": [1, 1]}), "blocks"),
        (race({"a": FIVE}, is_quick=True), "blocks"),
        (race({"a": [100, 100, 150, 100, 100]}), "spread"),
        (race({"a": [100, 100, 100, 100, None]}), "failures"),
        (race({"a": [100.0, 101, 100, 99, 500]}), "outliers"),
        (race({"a": [100, 90, 80, 71, 63]}), "drift"),
        (race({"a": FIVE, "a#2": [110, 91, 108, 94, 100]}), "noise"),
        (race({"a": FIVE}, status="interrupted"), "interrupted"),
        (race({"a": FIVE}, manifest={"machine": {"load_before": 3.0}}), "load"),
        (race({"a": [1e5] * 5}), "length"),
        (with_runs(race({"a": FIVE}), cache=Cache(asked="cold", found="warm")), "cache"),
        (with_runs(race({"a": FIVE}, manifest={"machine": {"virtual": True}}), cache=COLD), "host cache"),
        (race({"a": FIVE, "b": FIVE}, runs=OTHER_PIXELS), "levels"),
    ],
)
def test_each_reason_to_doubt_is_said(result, said):
    assert said in names(result)


def test_cold_that_was_not_is_invalid():
    (finding,) = [
        one
        for one in findings(with_runs(race({"a": FIVE}), cache=Cache(asked="cold", found="warm")))
        if one.name == "cache"
    ]
    assert finding.severity == "invalid"
    assert finding.message == "a: the page cache was to be cold, and was warm."
