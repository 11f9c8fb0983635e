"""The trainer of images: what it learns and says, and that no interruption changes a bit of it."""

import re
import signal
import subprocess

import numpy as np
import pytest
import torch

import penstock
from penstock.loader import verify_resume
from penstock.torch import Loader
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop
from tests.examples.trainers import ENVIRONMENT, command, entries, losses, run, script, weights
from tests.images import jpeg, photo

TRAIN, VAL, STEPS = 56, 23, 7
MODEL = ["-a", "resnet10-small", "--image-size", "32", "--lr", "0.01", "-w", "1"]
LINE = (
    r"Epoch: \[0\]\[3/7\]\tTime [\d.]{5} \([\d.]{5}\)\tData [\d.]{5} \([\d.]{5}\)\tLoss [\d.]{6} \([\d.]{6}\)"
    r"\tPrec@1 [\d.]+ \([\d.]+\)\tPrec@5 [\d.]+ \([\d.]+\)\tStall [\d.]{5} @\d"
)


def write_images(folder, count, *, seed):
    for number in range(count):
        path = folder / f"c{number % 4}" / f"{number:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(photo(*((64, 48), (48, 64), (40, 40))[number % 3], seed=seed + number), quality=85))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Images of four classes to train on, packed, and fewer to validate with, as they are."""
    folder = tmp_path_factory.mktemp("data")
    write_images(folder / "train", TRAIN, seed=0)
    write_images(folder / "val", VAL, seed=1000)
    penstock.pack(folder / "train", folder / "train.pen")
    return folder


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def trainer():
    return script("train_image")


@pytest.fixture
def train(trainer, data, tmp_path):
    """Train in this process; gives the run's folder."""

    def trained(name, *arguments, expected=0):
        given = ["-d", str(data), *MODEL, "-b", "8", "-e", "2", "-p", "3", "--workspace", str(tmp_path), "-n", name]
        assert trainer.main([*given, *arguments]) == expected
        return tmp_path / name

    return trained


def resumed(train, name, *arguments, times):
    """Train a few steps at a time, each time by another run that goes on from a checkpoint."""
    folder = train(name, *arguments, "--time-budget", "0s")
    for _ in range(times):
        train(name, *arguments, "--time-budget", "0s", "--resume", str(folder / "checkpoint.pth.tar"))
    return folder


def test_a_run_says_what_people_know_and_writes_it_down(data, tmp_path):
    arguments = ["-d", str(data), *MODEL, "-b", "8", "-e", "2", "-p", "3", "--workspace", str(tmp_path), "-n", "first"]
    said = run("train_image", [*arguments, "--report"])
    assert re.search(LINE, said), said
    assert re.search(r" \* Prec@1 [\d.]+ Prec@5 100.000 over 23 samples", said)
    for part in ("hours to completion", "training waits for data", " > Time taken for this 1 train epoch = "):
        assert said.count(part) == 2
    assert [one["samples"] for one in entries(tmp_path / "first", "epoch")] == [TRAIN, TRAIN]
    assert [one["samples"] for one in entries(tmp_path / "first", "validation")] == [VAL, VAL]
    page = (tmp_path / "first" / "report.html").read_text()
    assert page.count("<svg") == 5
    assert {path.name for path in (tmp_path / "first").iterdir()} == {
        "checkpoint.pth.tar",
        "log.jsonl",
        "model_best.pth.tar",
        "report.html",
    }


@pytest.mark.parametrize(
    "options",
    [
        ["--shuffle", "window"],
        ["--mixup", "0.2", "--ema", "0.9", "--warmup", "0.5", "--label-smoothing", "0.1", "--amp", "bf16"],
        ["--optimizer-batch-size", "16", "--optimizer", "rmsprop", "--memory-format", "nhwc"],
    ],
    ids=["plain", "mixup, average, bf16", "accumulated"],
)
def test_a_run_in_pieces_is_bit_by_bit_the_run_in_one(train, options):
    whole = train("whole", *options)
    pieces = resumed(train, "pieces", *options, times=5)
    reasons = [one["reason"] for one in entries(pieces, "end")]
    assert sum("in epoch" in reason for reason in reasons) >= 2
    assert reasons[-1] == "all epochs are done"
    assert losses(pieces) == losses(whole)
    assert weights(pieces) == weights(whole)
    for kind in ("epoch", "validation"):
        values = [
            [(one["epoch"], one["Loss"], one["Prec@1"], one["samples"]) for one in entries(folder, kind)]
            for folder in (whole, pieces)
        ]
        assert values[0] == values[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_ended_from_outside_goes_on_as_if_it_had_not_been(train, data, tmp_path, number):
    common = ["-e", "12", "-p", "1", "--skip-validation", "--checkpoint-steps", "2"]
    arguments = ["-d", str(data), *MODEL, "-b", "8", *common, "--workspace", str(tmp_path), "-n", "ended"]
    with subprocess.Popen(
        command("train_image", arguments), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("Epoch: [0][4/"):
                process.send_signal(number)
                break
        rest = process.stderr.read()
    assert process.returncode == (0 if number == signal.SIGTERM else -number)
    assert ("=> stopped by SIGTERM" in rest) == (number == signal.SIGTERM)
    ended = tmp_path / "ended"
    at = entries(ended, "line")[-1]
    assert (at["epoch"], at["step"]) < (11, STEPS)
    train("ended", *common, "--resume", str(ended / "checkpoint.pth.tar"))
    whole = train("whole", *common)
    assert losses(ended) == losses(whole)
    assert weights(ended) == weights(whole)


def test_two_ranks_go_on_where_one_stopped_in_the_same_order(train, data, tmp_path):
    folder = train("one", "-e", "1", "--time-budget", "0s")
    before = torch.load(folder / "checkpoint.pth.tar")
    arguments = ["-d", str(data), *MODEL, "-b", "4", "-e", "1", "-p", "3", "--workspace", str(tmp_path), "-n", "two"]
    said = run("train_image", [*arguments, "--resume", str(folder / "checkpoint.pth.tar")], ranks=2)
    assert "resumed" in said
    assert [(one["epoch"], one["step"]) for one in entries(tmp_path / "two", "line")] == [(0, 6), (0, 7)]
    (epoch,) = entries(tmp_path / "two", "epoch")
    assert epoch["samples"] == TRAIN
    expected = {"epoch": 0, "consumed": 24}
    assert {name: before["loader"][name] for name in expected} == expected
    assert [one["delivered"]["since"] for one in epoch["delivered"]] == [24, 24]
    transforms = [RandomResizedCrop(32), RandomHorizontalFlip()]
    with Loader(data / "train.pen", batch_size=8, transforms=transforms, seed=0, drop_last=True) as loader:
        verify_resume(loader, before["delivered"])
        verify_resume(loader, epoch["delivered"])


def test_a_validation_is_the_same_on_one_two_and_three_ranks(train, data, tmp_path):
    folder = train("trained", "-e", "1")
    given = ["--evaluate", "--resume", str(folder / "checkpoint.pth.tar"), "-b", "5"]
    found = entries(train("on one", *given), "validation")
    for ranks in (2, 3):
        name = f"on {ranks}"
        run("train_image", ["-d", str(data), *MODEL, *given, "--workspace", str(tmp_path), "-n", name], ranks=ranks)
        found += entries(tmp_path / name, "validation")
    assert [one["samples"] for one in found] == [VAL] * 3
    assert len({one["Prec@1"] for one in found}) == 1
    np.testing.assert_allclose([one["Loss"] for one in found], [found[0]["Loss"]] * 3, rtol=1e-6)
    assert found[0]["Loss"] == pytest.approx(entries(folder, "validation")[0]["Loss"], rel=1e-6)


def test_stages_train_on_one_dataset_after_another_under_one_schedule(train, data, tmp_path):
    other = tmp_path / "other"
    write_images(other / "train", 24, seed=2000)
    write_images(other / "val", 5, seed=3000)
    stages = ["--stages", "1,2", "--datasets", f"{other},{data}", "-p", "1"]
    folder = train("stages", *stages)
    assert [one["samples"] for one in entries(folder, "epoch")] == [24, TRAIN, TRAIN]
    assert [one["samples"] for one in entries(folder, "validation")] == [VAL] * 3
    rates = [one["lr"] for one in entries(folder, "line")]
    assert rates == sorted(rates, reverse=True)
    assert rates[3] == pytest.approx(0.01 * 0.75)  # a third of the way down the cosine
    pieces = resumed(train, "pieces", *stages, "-p", "3", times=7)
    assert entries(pieces, "end")[-1]["reason"] == "all epochs are done"
    assert weights(pieces) == weights(folder)


def test_a_fraction_of_the_data_is_the_same_one_every_time(train):
    folders = [train(name, "--fraction", "0.45", "-e", "3", "-p", "1") for name in ("a", "b")]
    assert losses(folders[0]) == losses(folders[1])
    for epoch in entries(folders[0], "epoch"):
        assert epoch["samples"] == 24  # of 25, in batches of 8
    orders = [one["delivered"][0]["order"]["dataset"] for one in entries(folders[0], "epoch")]
    assert len(set(orders)) == 1


def test_an_average_that_forgets_at_once_is_the_model_and_one_that_never_learns_is_its_beginning(train):
    plain = entries(train("plain"), "validation")
    same = entries(train("same", "--ema", "0"), "validation")
    still = entries(train("still", "--ema", "1"), "validation")
    assert [one["Loss"] for one in same] == [one["Loss"] for one in plain]
    assert still[0]["Loss"] == still[1]["Loss"]
    assert still[1]["Loss"] != plain[1]["Loss"]


def test_bf16_computes_in_a_shorter_type_and_keeps_weights_in_the_long_one(train):
    plain, short = train("plain"), train("short", "--amp", "bf16")
    last = [losses(folder)[1, STEPS]["Loss"] for folder in (plain, short)]
    assert last[0] != last[1]
    assert last[0] == pytest.approx(last[1], rel=0.2)
    state = torch.load(short / "checkpoint.pth.tar")["model"]
    assert {one.dtype for one in state.values() if one.is_floating_point()} == {torch.float32}


def test_a_stock_data_loader_trains_the_same_model(data, tmp_path):
    arguments = ["-d", str(data), *MODEL, "-l", "pytorch", "-b", "8", "-e", "1", "-p", "3", "--workspace"]
    run("train_image", [*arguments, str(tmp_path), "-n", "stock"])
    assert [one["samples"] for one in entries(tmp_path / "stock", "epoch")] == [TRAIN]
    assert [one["samples"] for one in entries(tmp_path / "stock", "validation")] == [VAL]


def test_a_model_can_be_fed_with_nothing(train):
    folder = train("nothing", "-l", "synthetic", "--synth-train-samples", "40", "--num-classes", "4")
    assert [one["samples"] for one in entries(folder, "epoch")] == [40, 40]
    assert not entries(folder, "validation")


def test_a_profile_trains_on_the_first_steps_of_each_epoch(train):
    folder = train("profile", "--profile-n", "2")
    assert [one["samples"] for one in entries(folder, "epoch")] == [16, 16]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-b", "60"], "there is not one whole batch"),
        (["-l", "dali-cpu"], "dali-cpu is not installed"),
        (["-l", "pytorch", "--fraction", "0.5"], "loaders of others"),
        (["-a", "resnet1917"], "the model is unknown"),
        (["--resume", "nowhere.tar"], "nowhere.tar"),
        (["--lr", "1e30"], "lower the learning rate"),
    ],
)
def test_what_cannot_be_done_is_said(train, capsys, arguments, message):
    train("none", *arguments, expected=1)
    assert message in capsys.readouterr().err


def test_a_checkpoint_of_another_model_is_refused(train, capsys):
    folder = train("first", "-e", "1")
    train("second", "-a", "resnet18", "--resume", str(folder / "checkpoint.pth.tar"), expected=1)
    assert "the checkpoint is of another model" in capsys.readouterr().err


def test_stages_and_datasets_go_together(trainer, capsys):
    with pytest.raises(SystemExit):
        trainer.options(["--stages", "1,2", "--datasets", "one"])
    assert "2 stages, but 1 datasets" in capsys.readouterr().err
