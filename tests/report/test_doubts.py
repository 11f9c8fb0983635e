"""Doubts."""

from __future__ import annotations

import pytest

from penstock.report import doubts
from tests.bench.results import result

FIVE = [100.0, 101, 100, 99, 100]


def test_a_good_race_leaves_no_doubt():
    assert doubts(result({"a": FIVE, "b": FIVE})) == []


@pytest.mark.parametrize(
    ("race", "words"),
    [
        (result({"a": [1, 1]}), "Only 2 rounds"),
        (result({"a": [100, 100, 150, 100, 100]}), "differ by 50%"),
        (result({"a": [100, 100, 100, 100, None]}), "1 of 5 runs"),
        (result({"a": FIVE, "a#2": FIVE}), "a against itself: 1.000"),
        (result({"a": FIVE}, agreement={"digests": ["x", "y"], "level_spread": None}), "same samples"),
        (result({"a": FIVE}, agreement={"digests": ["x"], "level_spread": [1, 30, 1]}), "Mean levels"),
    ],
)
def test_each_reason_to_doubt_is_said(race, words):
    assert any(words in doubt for doubt in doubts(race))


def test_a_busy_machine_and_a_cold_cache_are_said():
    race = result({"a": FIVE})
    race["machine"]["load_before"] = 3.0
    race["runs"][0]["device_read_bytes"] = 50_000_000
    text = " ".join(doubts(race))
    assert "busy" in text
    assert "50 MB came from the device" in text
