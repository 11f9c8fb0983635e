"""Timing one peer, with peers made of lists."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from penstock.bench import Case
from penstock.bench.child import digest, prepare, time_peer
from penstock.errors import DataError


@pytest.fixture
def case(tmp_path):
    (tmp_path / "photos" / "a").mkdir(parents=True)
    for number in range(10):
        (tmp_path / "photos" / "a" / f"{number}.jpg").write_bytes(b"jpeg")
    return Case.of(str(tmp_path / "photos"), size=4, epochs=2)


def peer(*orders, images=(3, 4, 4), dtype=np.uint8):
    """A peer that delivers these orders, one per epoch, again and again, in batches of five."""

    def epochs(_):
        for order in itertools.cycle(orders):
            ids = np.array(order)
            yield [(np.full((len(piece), *images), 7, dtype), piece) for piece in (ids[:5], ids[5:])]

    return SimpleNamespace(epochs=epochs, prepare=lambda _: (None, False))


SHUFFLED = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]


def test_the_rate_is_all_samples_over_all_seconds_of_the_counted_epochs(case):
    run = time_peer(peer(SHUFFLED), case)
    assert run["samples"] == 20
    assert run["seconds"] == pytest.approx(sum(run["epoch_seconds"]))
    assert run["rate"] == pytest.approx(20 / run["seconds"])
    assert len(run["warmup_seconds"]) == 1
    assert run["levels"] == [7, 7, 7]


def test_both_layouts_are_welcome(case):
    assert time_peer(peer(SHUFFLED, images=(4, 4, 3)), case)["samples"] == 20


@pytest.mark.parametrize(
    "orders", [[SHUFFLED[:-1]], [[*SHUFFLED, 0]], [[*SHUFFLED[:-1], 3]], [SHUFFLED, SHUFFLED, SHUFFLED[1:]]]
)
def test_a_missing_a_doubled_and_a_swapped_sample_are_noticed(case, orders):
    with pytest.raises(DataError, match="exactly once"):
        time_peer(peer(*orders), case)


def test_an_unshuffled_epoch_is_noticed(case):
    with pytest.raises(DataError, match="order of the folder"):
        time_peer(peer(sorted(SHUFFLED)), case)


@pytest.mark.parametrize("wrong", [{"images": (3, 4, 5)}, {"images": (1, 4, 4)}, {"dtype": np.float32}])
def test_images_of_another_shape_or_type_are_noticed(case, wrong):
    with pytest.raises(DataError, match="a batch"):
        time_peer(peer(SHUFFLED, **wrong), case)


def test_the_digest_of_a_multiset_knows_no_order():
    assert digest(np.array([1, 2, 2])) == digest(np.array([2, 1, 2])) != digest(np.array([1, 1, 2]))


def test_preparing_says_what_was_made_and_how_large_it_is(case, tmp_path):
    form = tmp_path / "photos.pen"
    form.mkdir()
    (form / "shard").write_bytes(bytes(1000))
    made = prepare(SimpleNamespace(prepare=lambda _: (form, True)), case)
    assert (made["form"], made["form_bytes"]) == ("photos.pen", 1000)
    assert made["made_seconds"] is not None
    assert prepare(SimpleNamespace(prepare=lambda _: (form, False)), case)["made_seconds"] is None
    assert prepare(peer(SHUFFLED), case) == {"form": None}
