"""Layers, each measured for a moment in this process."""

from __future__ import annotations

import pytest

from penstock.bench import bench, bench_loaders, layers
from penstock.bench.case import Case
from penstock.bench.layers.calls import repeat
from penstock.errors import UsageError
from penstock.pack import pack
from penstock.results.sweeps import grids
from penstock.testing import write_photos

BRIEF = 0.05


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layers")
    write_photos(folder / "photos", count=12, classes=2)
    pack(folder / "photos", folder / "photos.pen")
    return folder / "photos"


def values(layer, **settings):
    module = layers.load(layer)
    return module.measure(module.Settings(**{"seconds": BRIEF, **settings}), lambda _: None)["values"]


def test_calls_are_counted_timed_and_their_bytes_added_up():
    numbers = []
    done = repeat(lambda n: numbers.append(n) or 7, seconds=BRIEF, threads=3, warmup=2)
    found = done.values()
    assert sorted(numbers) == list(range(len(numbers))), "every number once, also among threads"
    assert found["samples"] == len(numbers) - 2
    assert found["payload_bytes"] == 7 * found["samples"]
    assert found["operations_per_second"] == pytest.approx(found["samples"] / found["seconds"])


def test_what_a_call_raises_is_raised_when_all_threads_have_ended():
    def call(number):
        raise KeyError(number)

    with pytest.raises(KeyError):
        repeat(call, seconds=60, threads=3)


@pytest.mark.parametrize("primitive", ["decode", "header", "crop", "resize", "encode"])
def test_primitives_of_decoding(photos, primitive):
    found = values("decode", data=str(photos), primitive=primitive, images=4, size=32)
    assert found["samples_per_second"] > 0
    assert found["encoded_bytes_per_sample"] > 1000


def test_another_quality_has_other_bytes(photos):
    low, high = (
        values("decode", data=str(photos), codec="webp", quality=quality, images=4)["encoded_bytes_per_sample"]
        for quality in (10, 90)
    )
    assert low < high / 2


@pytest.mark.parametrize("wrong", [{"codec": "gif"}, {"primitive": "paint"}, {"library": "magick"}])
def test_what_there_is_not_is_refused_by_name(photos, wrong):
    with pytest.raises(UsageError, match="no such"):
        values("decode", data=str(photos), **wrong)


@pytest.mark.parametrize("request_bytes", [4096, 0])
def test_reads_of_a_folder(photos, request_bytes):
    found = values("store", data=str(photos), request_bytes=request_bytes, in_flight=2)
    assert found["bytes_per_second"] == pytest.approx(found["payload_bytes"] / found["seconds"])
    if request_bytes:
        assert found["payload_bytes"] == request_bytes * found["samples"]


def test_a_folder_of_nothing_is_refused(tmp_path):
    with pytest.raises(UsageError, match="nothing to read"):
        values("store", data=str(tmp_path))


@pytest.mark.parametrize("decodes", [False, True])
def test_items_of_a_dataset_packed_and_as_it_is(photos, decodes):
    for data in (photos, photos.with_suffix(".pen")):
        assert values("dataset", data=str(data), pool=2, decodes=decodes)["payload_bytes"] > 0


@pytest.mark.parametrize("action", ["random_on_device", "random_to_device", "single_image", "random_image"])
def test_batches_to_the_device(photos, action):
    found = values("tensor", data=str(photos), action=action, batch_size=4, size=16)
    assert found["samples"] == 4 * round(found["batches_per_second"] * found["seconds"])
    assert found["delivered_bytes"] == found["samples"] * 3 * 16 * 16 * (1 if "image" in action else 4)


def test_a_device_that_is_not_there_is_the_reason_for_a_refusal(photos, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    module = layers.load("tensor")
    told = module.measure(module.Settings(data=str(photos), device="cuda:0"), lambda _: None)
    assert told == {"refused": "there is no device cuda:0 here"}


def test_a_study_of_a_layer_over_two_factors_makes_a_heat_map(photos):
    result = bench(
        "decode",
        str(photos),
        settings={"seconds": BRIEF, "images": 4},
        sweep={"codec": ["jpeg", "webp"], "cores": [1, 2]},
        blocks=1,
    )
    (grid,) = grids(result, "codec", "cores")
    assert (grid.rows, grid.columns) == (("jpeg", "webp"), (1, 2))
    assert all(value > 0 for row in grid.values for value in row)
    assert result.command.endswith("--set seconds=0.05 --set images=4 --sweep codec=jpeg,webp --sweep cores=1,2")
    assert str(photos.parent) not in str(result.manifest)


def test_a_setting_that_is_none_is_refused_before_anything_runs(photos):
    with pytest.raises(UsageError, match="decode has no such setting: got corse"):
        bench("decode", str(photos), sweep={"corse": [1]})
    with pytest.raises(UsageError, match="no such layer"):
        bench("decoding", str(photos))


def test_steps_of_a_thinking_consumer_and_what_could_be_fed(photos):
    case = Case.of(str(photos), size=32, batch_size=4, workers=1, epochs=1, think_seconds=0.002, capacity=True)
    (run,) = bench_loaders("step", case, ["synthetic"], blocks=1).runs
    assert run.is_ok, run.message
    assert 0 < run.values["accelerator_use"] <= 1
    assert len(run.raw["think_and_use"]) == 6


def test_steps_of_a_real_model(photos):
    case = Case.of(str(photos), size=32, batch_size=6, workers=1, epochs=1, model="resnet18")
    (run,) = bench_loaders("step", case, ["penstock"], blocks=1).runs
    assert run.is_ok, run.message
    assert len(run.steps.think_seconds) == 2
    assert min(run.steps.think_seconds) > 0
