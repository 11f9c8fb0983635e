"""What a result says first."""

from __future__ import annotations

from penstock.report.entries import entries, studies
from penstock.report.verdict import headlines
from tests.report.made import race, sweep
from tests.results.made import race as rates


def said(result, against=None):
    shown = studies([result])
    return headlines(shown[0], entries(shown), against)


def test_ours_is_compared_with_what_was_asked_for_and_its_twin_is_not_news():
    (line,) = said(race(), "torchvision")
    assert line.verdict == line.word == "faster"
    assert line.number == "5.73x"
    assert line.sentence.startswith(
        "penstock, packed: 5.73 times as fast as torchvision ImageFolder and DataLoader [5.6"
    )


def test_without_any_of_ours_the_best_is_compared_with_the_slowest():
    (line,) = said(rates({"a": [100] * 5, "b": [300, 301, 299, 300, 302]}))
    assert line.sentence.startswith("b: 3.00 times as fast as a")
    assert line.word == "faster"


def test_few_blocks_give_no_verdict():
    (line,) = said(rates({"a": [100, 100], "b": [300, 301]}))
    assert line.verdict == "inconclusive"
    assert "No verdict from 2 blocks: it takes 5." in line.sentence


def test_a_quick_result_gives_none_either():
    (line,) = said(rates({"a": [100] * 6, "b": [300] * 6}, is_quick=True))
    assert "Quick by intent: no verdict is drawn." in line.sentence


def test_what_is_not_told_apart_says_how_many_blocks_would_do():
    (line,) = said(rates({"a": [100, 110, 95, 104, 99], "b": [103, 99, 108, 96, 107]}))
    assert line.verdict == "inconclusive"
    assert "blocks would" in line.sentence


def test_more_is_not_better_of_everything():
    fast, slow = (
        [(f"{name}", value) for value in values] for name, values in (("a", [1, 1, 1, 1, 1]), ("b", [2, 2, 2, 2, 2]))
    )
    result = rates({"a": [v for _, v in fast], "b": [v for _, v in slow]}, primary="seconds")
    (line,) = said(result, "a")
    assert line.word == "better"  # twice the rate is half the seconds
    assert "0.50 times the seconds of a" in line.sentence


def test_one_system_alone_is_its_number():
    (line,) = said(rates({"a": [100, 101, 102, 103, 104]}))
    assert line.sentence == "a: 102 samples/s, 95 % 100 to 104."


def test_nothing_measured_is_said():
    (line,) = said(rates({"a": [None, None]}))
    assert line.sentence == "No run succeeded: 2 of 2 failed."


def test_many_levels_are_summed_up_by_system():
    (line,) = said(sweep(), "boto")
    assert line.word == "faster"
    assert line.sentence.startswith("penstock against boto at 8 levels: faster at 8. Median ratios from ")
