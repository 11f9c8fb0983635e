"""The peers that need nothing but penstock and torch, timed for real on a few images."""

from __future__ import annotations

import pytest

from penstock.bench import Case
from penstock.bench.child import prepare
from penstock.bench.environments import ENVIRONMENTS, environment_of, interpreter, pins
from penstock.bench.peers import PEERS, load
from penstock.bench.race import rehearsal_of
from penstock.bench.rehearsal_images import write
from penstock.bench.timing import time_peer
from penstock.testing import write_photos


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers") / "photos"
    write_photos(folder, count=30, classes=3)
    write(folder.with_name("photos.rehearsal"))
    return Case.of(str(folder), size=64, batch_size=8, workers=2, epochs=2)


@pytest.mark.parametrize("name", ["penstock", "penstock-folder", "penstock-raw", "native"])
def test_penstocks_own_peers_deliver_what_the_others_deliver(case, name):
    peer = load(name)
    form = prepare(peer, case)
    assert form["form"] == {"penstock-folder": None, "penstock-raw": "photos.raw.pen"}.get(name, "photos.pen")
    assert prepare(peer, case).get("made_seconds") is None, "what is there is not made again"
    peer.prepare(rehearsal_of(case))
    run = time_peer(peer, case, rehearsal_case=rehearsal_of(case))
    assert [gate for gate in run["gates"] if not gate["passed"]] == []
    assert run["values"]["samples"] == 60
    assert all(60 < level < 190 for level in run["raw"]["levels"])


def test_the_synthetic_peer_delivers_ids(case):
    assert time_peer(load("synthetic"), case)["values"]["samples"] == 60


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_is_pinned_to_the_last_package_and_stands_on_one_that_is_there(name):
    wheels, built = pins(name)
    assert all("==" in line for line in [*wheels, *built])
    assert {line.partition("==")[0] for line in built} == set(ENVIRONMENTS[name].built)
    assert ENVIRONMENTS[name].on in {None, *ENVIRONMENTS}


def test_a_peer_lives_in_an_environment_or_needs_none(tmp_path):
    assert {environment_of(name) for name in PEERS} - {None} == set(ENVIRONMENTS)
    assert environment_of("ffcv-raw") == "ffcv"
    assert interpreter("ffcv", tmp_path) is None
    made = tmp_path / "ffcv/bin/python"
    made.parent.mkdir(parents=True)
    made.write_text("")
    assert interpreter("ffcv", tmp_path) == made
    assert interpreter("penstock", tmp_path) is None
