"""Ways to shuffle: settings in bytes become orders over samples."""

import json

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.order.shuffle import (
    Extent,
    FullShuffle,
    InStorageOrder,
    Mixture,
    WeightedSampling,
    WindowShuffle,
    shuffle_of,
)

PHOTOS = Extent(1_000_000, 110_000_000_000)
WAYS = [FullShuffle(), InStorageOrder(), WindowShuffle(), WindowShuffle(lanes=3)]


@pytest.mark.parametrize("way", WAYS)
def test_an_epoch_is_decided_by_seed_epoch_and_settings(way):
    extent = Extent(500, 500_000)
    positions = np.arange(500)
    order = way.order(extent, 7, 2).at(positions)
    assert sorted(order.tolist()) == positions.tolist()
    assert np.array_equal(way.order(extent, 7, 2).at(positions), order)
    others = [way.order(extent, 7, 3).at(positions), way.order(extent, 8, 2).at(positions)]
    assert all(np.array_equal(other, order) == isinstance(way, InStorageOrder) for other in others)
    assert json.loads(json.dumps(way.settings(extent)))["samples"] == 500


def test_windows_and_blocks_are_counted_in_bytes():
    settings = WindowShuffle(lanes=16, window_bytes=176_000_000, block_bytes=4_400_000).settings(PHOTOS)
    assert (settings["lanes"], settings["window"], settings["block"]) == (16, 100, 40)
    tiny = WindowShuffle(window_bytes=1, block_bytes=1).settings(PHOTOS)
    assert (tiny["window"], tiny["block"]) == (1, 1)
    whole = WindowShuffle(lanes=4).settings(Extent(10, 1000))
    assert (whole["window"], whole["block"]) == (3, 10)


def test_a_dataset_without_samples_has_an_empty_order():
    for way in WAYS:
        assert len(way.order(Extent(0), 0, 0)) == 0


def test_ways_have_names():
    assert shuffle_of("full") == FullShuffle()
    assert shuffle_of("window") == WindowShuffle()
    assert shuffle_of(False) == InStorageOrder()
    assert shuffle_of(WindowShuffle(lanes=4)) == WindowShuffle(lanes=4)


@pytest.mark.parametrize("given", [True, "fast", None, ["full"]])
def test_other_names_are_refused(given):
    with pytest.raises(UsageError, match="'full', 'window', False, or an object such"):
        shuffle_of(given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: WindowShuffle(lanes=2.5), "WindowShuffle: lanes: got 2.5, expected a whole number, at least 1"),
        (lambda: WindowShuffle(lanes="a"), "WindowShuffle: lanes: got 'a', expected a whole number"),
        (lambda: WindowShuffle(window_bytes=1e9), "WindowShuffle: window_bytes: got 1000000000.0, expected a whole"),
        (lambda: WindowShuffle(lanes=0), "WindowShuffle: lanes: got 0, expected a whole number, at least 1"),
        (lambda: WeightedSampling([1, 2], samples=1.5), "WeightedSampling: samples: got 1.5, expected a whole number"),
        (lambda: WeightedSampling([1, 2], samples=0), "WeightedSampling: samples: got 0, expected a whole number"),
        (lambda: WeightedSampling(["a", "b"]), "WeightedSampling: weights: got could not .* expected a number per"),
        (lambda: WeightedSampling([[1], [1, 2]]), "WeightedSampling: weights: got .*, expected a number per sample"),
        (lambda: Mixture((1, 1), samples=2.5), "Mixture: samples: got 2.5, expected a whole number, at least 1"),
        (lambda: Mixture((1, "a")), r"Mixture: ratios: got \(1, 'a'\), expected numbers"),
        (lambda: Mixture(3), "Mixture: ratios: got 3, expected numbers"),
    ],
)
def test_settings_that_are_no_numbers_are_refused(make, words):
    with pytest.raises(UsageError, match=words):
        make()


def test_settings_that_numpy_counted_are_plain_numbers():
    given = np.int64(4)
    ways = (WindowShuffle(lanes=given), WeightedSampling(np.ones(10), samples=given), Mixture((1, 1), samples=given))
    assert [json.loads(json.dumps(way.settings(Extent(10, 10, (5, 5))))) for way in ways]
