"""Timing one peer, with peers made of lists."""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace

import numpy as np
import pytest

from penstock.bench import Case
from penstock.bench.child import prepare
from penstock.bench.rehearsal import crop_box
from penstock.bench.rehearsal_images import COUNT, write
from penstock.bench.taking import digest
from penstock.bench.timing import rehearse, time_peer
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
OTHERWISE = [1, 3, 4, 0, 5, 9, 2, 6, 8, 7]


def failed(answer):
    return [gate["name"] for gate in answer["gates"] if not gate["passed"]]


def test_the_rate_is_all_samples_over_all_seconds_of_the_counted_epochs(case):
    run = time_peer(peer(SHUFFLED, OTHERWISE), case)
    assert failed(run) == []
    values = run["values"]
    assert values["samples"] == 20
    assert values["seconds"] == pytest.approx(sum(one["seconds"] for one in run["epochs"] if one["counted"]))
    assert values["samples_per_second"] == pytest.approx(20 / values["seconds"])
    assert [one["counted"] for one in run["epochs"]] == [False, True, True]
    assert run["raw"]["levels"] == [7, 7, 7]


def test_both_layouts_are_welcome(case):
    assert time_peer(peer(SHUFFLED, images=(4, 4, 3)), case)["values"]["samples"] == 20


@pytest.mark.parametrize(
    "orders", [[SHUFFLED[:-1]], [[*SHUFFLED, 0]], [[*SHUFFLED[:-1], 3]], [SHUFFLED, OTHERWISE, SHUFFLED[1:]]]
)
def test_a_missing_a_doubled_and_a_swapped_sample_pass_no_gate(case, orders):
    assert "samples" in failed(time_peer(peer(*orders), case))


def test_an_unshuffled_epoch_and_one_like_the_last_pass_no_gate(case):
    assert "shuffled" in failed(time_peer(peer(sorted(SHUFFLED)), case))
    assert failed(time_peer(peer(SHUFFLED), case)) == ["reshuffled"]


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


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rehearsal")
    write(folder)
    return Case.of(str(folder / "data"), size=48, batch_size=32)


def cropper(case, *, box=crop_box, flips=0.5, swap=0, bgr=False):
    """A peer that does the work with Pillow, or not quite."""
    from PIL import Image

    draws = random.Random(5)

    def epochs(_):
        files = case.files()
        while True:
            order = draws.sample(range(len(files)), len(files))

            def epoch(order=order):
                for start in range(0, len(order), case.batch_size):
                    ids = order[start : start + case.batch_size]
                    yield np.stack([one(files[n][0]) for n in ids]), [(n + swap) % len(files) for n in ids]

            yield epoch()

    def one(path):
        with Image.open(path) as file:
            image = file.convert("RGB")
        image = image.crop(box(*image.size, draws)).resize((case.size, case.size), Image.Resampling.BILINEAR)
        pixels = np.asarray(image)
        pixels = pixels[:, ::-1] if draws.random() < flips else pixels
        return pixels[..., ::-1] if bgr else pixels

    return SimpleNamespace(epochs=epochs)


def smaller(width, height, draws):
    """A box of at most half the area: less to decode."""
    w, h = (round(side * draws.uniform(0.3, 0.7)) for side in (width, height))
    x, y = draws.randint(0, width - w), draws.randint(0, height - h)
    return x, y, x + w, y + h


def middle(width, height, draws):
    """A box of the right size, in the middle."""
    left, top, right, bottom = crop_box(width, height, draws)
    x, y = (width - right + left) // 2, (height - bottom + top) // 2
    return x, y, x + right - left, y + bottom - top


@pytest.mark.parametrize(
    ("wrong", "gates"),
    [
        ({}, []),
        ({"box": smaller}, ["crops"]),
        ({"box": middle}, ["crops"]),
        ({"flips": 0.0}, ["flips"]),
        ({"swap": 1}, ["pairing"]),
        ({"bgr": True}, ["pairing"]),
    ],
)
def test_a_rehearsal_finds_other_crops_other_flips_other_pairs_and_other_colours(images, wrong, gates):
    found = rehearse(cropper(images, **wrong), images)
    failed = [gate.name for gate in found if not gate.passed]
    assert failed[: len(gates)] == gates, found
    assert bool(failed) == bool(gates)
    assert len(images.files()) == COUNT


def test_a_peer_that_fails_its_rehearsal_is_not_timed(images):
    answer = time_peer(cropper(images, flips=1.0), images, rehearsal_case=images)
    assert "values" not in answer
    assert failed(answer) == ["flips"]
