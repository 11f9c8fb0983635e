"""`penstock info --order`: the loader's settings and memory, and what an order is worth beside a uniform shuffle."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import penstock
from penstock.cli import main
from penstock.loader import Loader
from penstock.order import WindowShuffle
from penstock.transforms import RandomResizedCrop
from tests import datasets, folders

SMALL = ("--order", "window", "--lanes", 4, "--window", "24kB", "--block", "6kB", "--batch-size", 6)


def run(*words, code=0):
    result = CliRunner().invoke(main, ["info", *(str(word) for word in words)])
    assert result.exit_code == code, result.output
    return result


def order(*words):
    return json.loads(run(*words, "--json").stdout)["order"]


def loader(dataset, **options):
    return Loader(dataset, transforms=RandomResizedCrop(16), threads=0, **options)


def test_lanes_without_number_take_no_more_memory_than_the_dataset(tmp_path):
    source = folders.classes(tmp_path / "photos")
    found = order(source, "--order", "window", "--lanes", 1_000_000)
    assert found["window_memory_bytes"] < 10**6, "twelve images of a few kilobytes"


@pytest.mark.parametrize(
    ("words", "shuffle", "batch_size"),
    [
        (SMALL, WindowShuffle(lanes=4, window_bytes=24_000, block_bytes=6_000), 6),
        (("--order", "window"), "window", 256),
        (("--order", "full"), "full", 256),
        (("--order", "sequential"), False, 256),
    ],
)
@pytest.mark.parametrize("dataset", [datasets.packed, datasets.folder, datasets.masked])
def test_settings_and_memory_are_those_that_the_loader_would_have(dataset, words, shuffle, batch_size):
    found = order(dataset(), *words)
    with loader(dataset(), shuffle=shuffle, batch_size=batch_size) as same:
        settings = same.course.settings
        assert found["settings"] == {name: settings[name] for name in found["settings"]}
        assert set(settings) - set(found["settings"]) == {"dataset", "seed"}
        assert found["window_memory_bytes"] == (same._windows.arena_bytes if same._windows else 0)


def test_a_rank_has_its_part_of_the_memory_and_is_judged_beside_all_ranks_together():
    alone, among = order(datasets.packed(), *SMALL), order(datasets.packed(), *SMALL, "--world-size", 4)
    assert among["window_memory_bytes"] < alone["window_memory_bytes"]
    assert among["world_sizes"] == [1, 2, 4]
    assert [one["batch_size"] for one in among["quality"]] == [6, 24]
    rank, ranks = among["quality"]
    assert rank["sorted"]["same_block"] > ranks["sorted"]["same_block"] > ranks["uniform"]["same_block"]
    shown = run(datasets.packed(), *SMALL, "--world-size", 4).stdout
    assert "1, 2 or 4" in shown
    assert "on each of 4 ranks" in shown
    assert "in a rank's batch of 6" in shown
    assert "in all ranks' batch of 24" in shown


def test_classes_are_judged_as_they_are_stored_and_as_if_sorted(tmp_path):
    """Forty-eight samples of four classes, read in the order of storage in batches of twelve."""
    source = folders.classes(tmp_path / "photos", 48, 12)
    words = ("--order", "sequential", "--batch-size", 12)
    (inside,) = order(source, *words)["quality"]
    assert inside["stored"] == inside["sorted"]
    assert (inside["stored"]["classes_seen"], inside["stored"]["class_run"]) == pytest.approx((1, 12))
    assert "class by class" not in run(source, *words).stdout  # it is
    penstock.pack(source, tmp_path / "p.pen")
    labels = penstock.open(tmp_path / "p.pen").labels("label")
    (mixed,) = order(tmp_path / "p.pen", *words)["quality"]
    assert mixed["sorted"] == inside["sorted"]
    assert mixed["stored"]["class_run"] == pytest.approx(48 / (1 + (np.diff(labels) != 0).sum()))
    assert "class by class" in run(tmp_path / "p.pen", *words).stdout


def test_a_dataset_without_classes_is_judged_as_if_it_had_some(tmp_path):
    rows = "".join(f"{number}.jpg,a picture\n" for number in range(8))
    (tmp_path / "labels.csv").write_text(f"file,caption\n{rows}")
    source = folders.write(tmp_path / "photos", {f"{number}.jpg": folders.jpeg(number) for number in range(8)})
    penstock.pack(source, tmp_path / "p.pen", labels=tmp_path / "labels.csv")
    (judged,) = order(tmp_path / "p.pen", "--order", "sequential")["quality"]
    assert set(judged) == {"batch_size", "sorted", "uniform"}
    assert judged["sorted"]["classes_seen"] == 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--lanes", 4), "--lanes: only goes with --order"),
        (("--window", "1MB", "--batch-size", 4), "--batch-size, --window: only goes with --order"),
        (("--order", "full", "--lanes", 4), "--lanes: only goes with --order window"),
        (("--order", "window", "--window", "big"), "is no size"),
        (("--order", "window", "--world-size", 3), "16 lanes cannot be shared out evenly"),
    ],
)
def test_settings_that_would_not_be_heeded_are_refused(words, said):
    assert said in run(datasets.packed(), *words, code=2).stderr


def test_what_no_batch_shows_is_not_called_zero(tmp_path):
    source = folders.classes(tmp_path / "photos")
    assert "none seen" in run(source, "--order", "full", "--block", "1B").stdout
