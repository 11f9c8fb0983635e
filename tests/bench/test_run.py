"""Racing: children, rounds, failures."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench import Case, race, standings
from penstock.bench.peers import PEERS, load
from penstock.bench.run import ask, schedule, twins
from penstock.errors import UsageError
from penstock.testing import write_photos


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.integers(1, 6), st.integers(0, 99))
def test_every_round_runs_every_peer_once_and_the_seed_decides_the_order(names, rounds, seed):
    told = twins(names)
    drawn = schedule(told, rounds, seed)
    assert len(set(told)) == len(names)
    assert len(drawn) == rounds
    assert all(sorted(order) == sorted(told) for order in drawn)
    assert drawn == schedule(told, rounds, seed)


def test_a_peer_named_twice_gets_a_twin():
    assert twins(["a", "b", "a"]) == ["a", "b", "a#2"]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("race") / "photos"
    write_photos(folder, count=12, classes=2)
    return Case.of(str(folder), size=32, batch_size=5, workers=1, epochs=1)


def test_a_race_of_one_that_works_and_one_whose_library_is_missing(case):
    result = race(case, ["pytorch", "ffcv"], rounds=1)
    good, bad = standings(json.loads(json.dumps(result)))
    assert (good.peer, len(good.rates)) == ("pytorch", 1)
    assert (bad.peer, bad.rate) == ("ffcv", None)
    assert "ffcv" in bad.failures[0]
    assert result["data"]["samples"] == 12
    assert len(result["agreement"]["digests"]) == 1
    assert case.data not in json.dumps({**result, "runs": []}), "where the data lies is nobody's business"
    assert result["command"].startswith("penstock race photos --peers pytorch,ffcv --rounds 1 --epochs 1 --workers 1")


def test_a_child_past_its_deadline_is_a_row_that_says_so(case):
    answer = ask("time", "pytorch", case, deadline_seconds=0.01)
    assert answer["status"] == "hung"
    assert "killed after" in answer["message"]


def test_an_unknown_peer_is_refused_before_anything_runs(case):
    with pytest.raises(UsageError, match="no such peer"):
        race(case, ["penstok"])
    with pytest.raises(UsageError, match="no such peer"):
        load("penstok")


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_says_what_it_is_without_its_library(name):
    peer = load(name)
    assert peer.LABEL
    assert peer.SETTINGS
    assert peer.DISTRIBUTIONS
    assert peer.__doc__
