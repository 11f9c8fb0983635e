"""The peers that need nothing but penstock and torch, timed for real on a few images."""

from __future__ import annotations

import pytest

from penstock.bench import Case
from penstock.bench.child import prepare, time_peer
from penstock.bench.peers import load
from penstock.testing import write_photos


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers") / "photos"
    write_photos(folder, count=30, classes=3)
    return Case.of(str(folder), size=64, batch_size=8, workers=2, epochs=2)


@pytest.mark.parametrize("name", ["penstock", "penstock-folder", "penstock-raw", "native"])
def test_penstocks_own_peers_deliver_what_the_others_deliver(case, name):
    peer = load(name)
    form = prepare(peer, case)
    assert form["form"] == {"penstock-folder": None, "penstock-raw": "photos.raw.pen"}.get(name, "photos.pen")
    assert prepare(peer, case).get("made_seconds") is None, "what is there is not made again"
    run = time_peer(peer, case)
    assert run["samples"] == 60
    assert all(60 < level < 190 for level in run["levels"])
