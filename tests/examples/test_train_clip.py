"""The trainer of clips: the configurations that people have, from frames, GulpIO directories and packed datasets."""

import json
import re

import numpy as np
import pytest
import torch
from torch.nn import functional

import penstock
from tests.clip_datasets import frames
from tests.examples.trainers import ROOT, entries, losses, run, script, weights
from tests.gulps import LABELS, label, written_by_gulpio2

TRAIN, VAL = 9, 5


def write_frames(folder, ids):
    for name in ids:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(frames(int(name), 4 + int(name) % 5)):
            (folder / name / f"{number:05d}.jpg").write_bytes(data)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Folders of frames, lists of them, and their classes."""
    folder = tmp_path_factory.mktemp("clips")
    parts = {"train": range(100, 100 + TRAIN), "val": range(200, 200 + VAL)}
    for part, ids in parts.items():
        write_frames(folder / "jpegs", map(str, ids))
        (folder / f"{part}.csv").write_text("".join(f"{one};{'push' if one % 2 else 'pull'}\n" for one in ids))
    (folder / "labels.csv").write_text("push\npull\n")
    return folder


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def trainer():
    return script("train_clip")


@pytest.fixture
def configuration(data, tmp_path):
    """Write a configuration; gives its path."""

    def written(name, **changes):
        values = {
            "model_name": name,
            "train_data_folder": str(data / "jpegs"),
            "val_data_folder": str(data / "jpegs"),
            "train_data_csv": str(data / "train.csv"),
            "val_data_csv": str(data / "val.csv"),
            "labels_csv": str(data / "labels.csv"),
            "num_workers": 1,
            "output_dir": str(tmp_path),
            "num_classes": 2,
            "batch_size": 2,
            "clip_size": 3,
            "num_epochs": 2,
            "print_freq": 1,
            "side": 16,
            **changes,
        }
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(values))
        return str(path)

    return written


def test_a_run_says_what_people_know(configuration, tmp_path):
    said = run("train_clip", ["--config", configuration("clips"), "-g", "cpu"])
    for line in (
        r"=> active GPUs: cpu",
        rf"=> Output folder for this run -- {tmp_path}/clips",
        r" > Using 1 processes for data loader.",
        r" > Training is getting started...",
        r" > Training takes 2 epochs.",
        r" > Current LR : 0.001",
        r"Epoch: \[1\]\[4/4\]\tTime [\d.]+ \([\d.]+\)\tData [\d.]+ \([\d.]+\)\tLoss [\d.]+ \([\d.]+\)\tPrec@1 ",
        r" > Time taken for this 1 train epoch = \d",
        r" > Time taken for this 1 validation epoch = \d",
        r" \* Prec@1 [\d.]+ Prec@5 100.000",
    ):
        assert re.search(line, said), said
    folder = tmp_path / "clips"
    assert [one["samples"] for one in entries(folder, "epoch")] == [8, 8]
    assert [one["samples"] for one in entries(folder, "validation")] == [VAL, VAL]
    assert (folder / "model_best.pth.tar").exists()
    assert (folder / "report.html").read_text().count("<svg") == 5


def test_a_run_in_pieces_is_bit_by_bit_the_run_in_one(trainer, configuration, tmp_path):
    assert trainer.main(["-c", configuration("whole"), "-g", "cpu"]) == 0
    pieces = ["-c", configuration("pieces", print_freq=2), "-g", "cpu", "--time-budget", "0"]
    assert trainer.main(pieces) == 0
    for _ in range(3):
        assert trainer.main([*pieces, "--resume", str(tmp_path / "pieces" / "checkpoint.pth.tar")]) == 0
    assert entries(tmp_path / "pieces", "end")[0]["reason"].endswith("in epoch 0 after step 2")
    assert entries(tmp_path / "pieces", "end")[-1]["reason"] == "all epochs are done"
    assert weights(tmp_path / "pieces") == weights(tmp_path / "whole")


def test_frames_and_the_same_packed_train_alike(trainer, configuration, data, tmp_path):
    penstock.pack(data / "train.csv", tmp_path / "own.pen", kind="20bn-frames", root=data / "jpegs")
    given = {"num_epochs": 1}
    assert trainer.main(["-c", configuration("frames", **given), "-g", "cpu"]) == 0
    given["train_data_folder"] = str(tmp_path / "own.pen")
    assert trainer.main(["-c", configuration("packed", **given), "-g", "cpu"]) == 0
    assert losses(tmp_path / "frames") == losses(tmp_path / "packed")


def test_a_gulpio_directory_is_trained_on_as_it_is(trainer, configuration, tmp_path):
    gulps = written_by_gulpio2(tmp_path / "gulps", range(7), 4)
    folders = {"train_data_folder": str(gulps), "val_data_folder": str(gulps), "num_classes": 3, "num_epochs": 1}
    without = {"train_data_csv": None, "val_data_csv": None, "labels_csv": None}
    assert trainer.main(["-c", configuration("all", **folders, **without), "-g", "cpu"]) == 0
    assert [one["samples"] for one in entries(tmp_path / "all", "validation")] == [7]
    (tmp_path / "names.csv").write_text("\n".join(LABELS) + "\n")
    (tmp_path / "some.csv").write_text("".join(f"{100 + item};{label(item)}\n" for item in (5, 1, 2, 0)))
    listed = {
        "train_data_csv": str(tmp_path / "some.csv"),
        "val_data_csv": str(tmp_path / "some.csv"),
        "labels_csv": str(tmp_path / "names.csv"),
    }
    given = ["-c", configuration("some", **folders, **listed), "-g", "cpu"]
    assert trainer.main(given) == 0
    assert trainer.main([*given, "--eval_only"]) == 0
    with np.load(tmp_path / "some" / "test_results.npz") as found:
        assert found["keys"].tolist() == ["100", "101", "102", "105"]
        assert found["targets"].tolist() == [item % len(LABELS) for item in (0, 1, 2, 5)]
        assert found["classes"].tolist() == list(LABELS)


def test_a_test_keeps_the_scores_of_every_clip(trainer, configuration, tmp_path):
    given = ["-c", configuration("tested", num_epochs=1), "-g", "cpu"]
    assert trainer.main(given) == 0
    checkpoint = str(tmp_path / "tested" / "checkpoint.pth.tar")
    assert trainer.main([*given, "--eval_only", "--resume", checkpoint]) == 0
    trained, tested = entries(tmp_path / "tested", "validation")
    assert tested["Loss"] == trained["Loss"]
    with np.load(tmp_path / "tested" / "test_results.npz") as found:
        assert found["keys"].tolist() == ["200", "201", "202", "203", "204"]
        assert found["targets"].tolist() == [1, 0, 1, 0, 1]
        scores, targets = torch.from_numpy(found["scores"]), torch.from_numpy(found["targets"])
    assert tested["Loss"] == pytest.approx(functional.cross_entropy(scores, targets).item(), rel=1e-5)


def test_two_ranks_train_and_test_each_clip_once(configuration, tmp_path):
    path = configuration("two", num_epochs=1, batch_size=1)
    run("train_clip", ["-c", path, "-g", "cpu"], ranks=2)
    assert [one["samples"] for one in entries(tmp_path / "two", "epoch")] == [8]
    assert [one["samples"] for one in entries(tmp_path / "two", "validation")] == [VAL]


def test_a_run_without_an_end_ends_when_the_rate_is_low(trainer, configuration, tmp_path):
    # Without progress from the second validation on, 0.6 of the rate after three more is less than the last rate.
    path = configuration("endless", num_epochs=-1, lr=1e-12, last_lr=0.9e-12, batch_size=4)
    assert trainer.main(["-c", path, "-g", "cpu"]) == 0
    (end,) = entries(tmp_path / "endless", "end")
    assert end["reason"] == "done: the learning rate is below 9e-13"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batchsize": 4}, "unknown keys"),
        ({"num_classes": 1}, "too many classes"),
        ({"train_data_folder": None}, "are missing"),
        ({"val_data_folder": "nowhere"}, "nowhere"),
        ({"batch_size": 10}, "there is not one whole batch"),
    ],
)
def test_what_cannot_be_done_is_said(trainer, configuration, capsys, changes, message):
    assert trainer.main(["-c", configuration("none", **changes), "-g", "cpu"]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gpus", "message"), [("0,1", "a process for each GPU"), ("first", "lists the numbers of GPUs")]
)
def test_a_process_has_one_gpu(trainer, configuration, capsys, gpus, message):
    assert trainer.main(["-c", configuration("none"), "-g", gpus]) == 1
    assert message in capsys.readouterr().err


def test_a_list_of_clips_that_are_not_there_is_refused(trainer, configuration, data, tmp_path, capsys):
    (tmp_path / "more.csv").write_text((data / "val.csv").read_text() + "999;push\n")
    penstock.pack(data / "val.csv", tmp_path / "val.pen", kind="20bn-frames", root=data / "jpegs")
    path = configuration("more", val_data_csv=str(tmp_path / "more.csv"), val_data_folder=str(tmp_path / "val.pen"))
    assert trainer.main(["-c", path, "-g", "cpu"]) == 1
    assert "1 of 6 clips, such as 999" in capsys.readouterr().err


def test_without_arguments_it_says_how_it_is_used(trainer, capsys):
    assert trainer.main([]) == 1
    assert "--eval_only" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.json")), ids=lambda path: path.stem)
def test_the_configurations_beside_it_are_taken(trainer, path):
    found = trainer.configured(str(path))
    assert (found["clip_size"], found["step_size"], found["num_classes"]) == (18, 2, 27)
