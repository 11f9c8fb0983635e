"""Two results side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import UsageError
from penstock.results import System
from penstock.results.comparing import changes, differences, is_slower_by
from tests.results.made import race

FIVE = [100.0, 101, 99, 100, 100]


def slower(by):
    return [value * (1 - by) for value in FIVE]


def test_like_results_are_compared_cell_by_cell_and_cells_of_one_only_are_left_out():
    found = changes(race({"a": FIVE, "b": FIVE, "c": FIVE}), race({"a": slower(0.2), "b": FIVE}))
    assert [(one.cell, one.verdict) for one in found] == [("a", "slower"), ("b", "same")]
    assert found[0].ratio == pytest.approx(0.8)
    assert found[0].interval[0] < 0.8 < found[0].interval[1]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"manifest": {"machine": {"processor": "Another"}}}, "machine.processor"),
        ({"work": {"batch_size": 128}}, "work.batch_size"),
        ({"primary": "seconds"}, "primary"),
        ({"systems": (System(name="a", peer="a", label="a", settings="prefetch 9"),)}, "systems.a.settings"),
        ({"systems": (System(name="a", peer="a", label="a", versions={"torch": "2"}),)}, "systems.a.versions.torch"),
    ],
)
def test_unlike_results_are_refused_with_what_differs_unless_that_is_allowed(other, said):
    before, after = race({"a": FIVE}), race({"a": FIVE}, **other)
    names = [one.name for one in differences(before, after)]
    assert said in names
    with pytest.raises(UsageError, match=f"not alike(.|\\n)*{said}"):
        changes(before, after)
    assert len(changes(before, after, allow=names)) == 1
    assert len(changes(before, after, allow=["all"])) == 1


def test_the_load_of_the_machine_and_our_own_version_may_differ():
    before = race({"a": FIVE}, systems=(System(name="a", peer="a", label="a", versions={"penstock": "1"}),))
    after = replace(before, systems=(System(name="a", peer="a", label="a", versions={"penstock": "2"}),))
    after = replace(after, manifest={**before.manifest, "machine": {"load_before": 5.0}})
    assert differences(before, after) == []


@pytest.mark.parametrize(("by", "share", "fails"), [(0.2, 0.05, True), (0.04, 0.05, False), (0.0, 0.05, False)])
def test_a_gate_fails_only_when_the_whole_interval_lies_beyond_it(by, share, fails):
    (change,) = changes(race({"a": FIVE}), race({"a": slower(by)}))
    assert is_slower_by(change, share) == fails


def test_noise_does_not_fail_a_gate():
    (change,) = changes(race({"a": [100, 130, 70, 100, 90]}), race({"a": [90, 60, 120, 80, 95]}))
    assert not is_slower_by(change, 0.05)
    (few,) = changes(race({"a": [100, 100]}), race({"a": [50, 50]}))
    assert few.interval is None
    assert not is_slower_by(few, 0.05)
