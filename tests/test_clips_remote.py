"""Clips from an object store: the batches that a disk gives, few bytes more than they need, mended on the way."""

from dataclasses import replace

import numpy as np
import pytest

import penstock
from penstock.loader import Loader
from penstock.order import WindowShuffle
from penstock.storage.cache import Cache
from penstock.testing.faults import FaultProxy, Profile
from penstock.transforms import ClipSample, RandomResizedCrop
from tests.clip_datasets import records, write_dataset
from tests.stores import IMPATIENT, access, allow, uploaded

MOVES = (ClipSample(4, 3), RandomResizedCrop(16))
WINDOW = WindowShuffle(lanes=2, window_bytes=60_000, block_bytes=15_000)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("clips") / "clips.pen", records())


@pytest.fixture
def url(clips, seaweedfs, monkeypatch):
    allow(monkeypatch, seaweedfs)
    return uploaded(seaweedfs, clips, "loader/clips.pen")


def batches(dataset, shuffle="full", epochs=1, **options):
    with Loader(dataset, batch_size=3, transforms=MOVES, shuffle=shuffle, seed=5, **options) as loader:
        return [(batch.ids.tolist(), np.array(batch[0])) for _ in range(epochs) for batch in loader]


def same(one, other):
    return len(one) == len(other) and all(
        ids == others and (pixels == theirs).all() for (ids, pixels), (others, theirs) in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("shuffle", ["full", WINDOW, False], ids=["full", "window", "sequential"])
def test_batches_are_those_of_the_same_dataset_on_a_disk(url, clips, seaweedfs, shuffle):
    remote = penstock.open(url, access=access(seaweedfs.endpoint))
    assert same(batches(remote, shuffle, epochs=2), batches(clips, shuffle, epochs=2))
    assert np.array_equal(remote[1, 2:9].clip(), penstock.open(clips)[1, 2:9].clip())


@pytest.mark.parametrize("shuffle", ["full", WINDOW], ids=["full", "window"])
def test_frames_that_come_damaged_are_asked_for_again(url, clips, seaweedfs, shuffle):
    opened = penstock.open(url, access=access(seaweedfs.endpoint))
    with FaultProxy(seaweedfs.host, seaweedfs.port, Profile(flip=0.3), seed=4) as proxy:
        store = opened.stored.store
        store.access = replace(store.access, endpoint=f"http://{proxy.host}:{proxy.port}", requests=IMPATIENT)
        store._connection = None
        found, expected = batches(opened, shuffle, on_error="skip"), batches(clips, shuffle)
        assert proxy.counts.faults["flip"] > 0
    pixels = {number: clip for ids, images in found for number, clip in zip(ids, images, strict=True)}
    assert len(pixels) >= 9
    for ids, images in expected:
        assert all(
            np.array_equal(pixels[number], clip) for number, clip in zip(ids, images, strict=True) if number in pixels
        )


def test_a_cache_serves_the_frames_that_it_has(url, clips, seaweedfs, tmp_path):
    cached = penstock.open(url, access=access(seaweedfs.endpoint), cache=Cache(str(tmp_path), 10**8))
    expected = batches(clips, WINDOW, epochs=2)
    assert same(batches(cached, WINDOW, epochs=2), expected)
    again = penstock.open(url, access=access(seaweedfs.endpoint), cache=Cache(str(tmp_path), 10**8))
    with Loader(again, batch_size=3, transforms=MOVES, shuffle=WINDOW, seed=5) as loader:
        list(loader)
        (told,) = loader.statistics().caches
    assert told.hit_bytes > 0
    assert told.missed_bytes == 0
