"""The smaller parts: averages of weights, mixup, models, the log, verdicts."""

import json
import re
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from penstock.errors import UsageError
from penstock.pipeline.statistics import StageStatistics
from penstock.torch.training import (
    Journal,
    Progress,
    Ranks,
    WeightAverage,
    clip_model,
    image_model,
    mixed,
    read_journal,
    verdict,
)
from penstock.torch.training.models import OWN

CPU = torch.device("cpu")


def test_an_average_of_weights_follows_them_and_takes_counters_over():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    average = WeightAverage(model, 0.75)
    before = model[0].weight.detach().clone()
    with torch.no_grad():
        model[0].weight += 4
    model(torch.rand(3, 2))
    average.update(model)
    assert torch.allclose(average.model[0].weight, before + 1)
    assert average.model[1].num_batches_tracked == 1
    assert not average.model[0].weight.requires_grad


def test_mixup_blends_each_image_with_another_and_targets_by_the_same_share():
    images = torch.arange(8.0).view(8, 1, 1, 1).expand(8, 3, 2, 2)
    labels = torch.arange(8)
    blended, targets = mixed(images, labels, alpha=0.4, classes=8, draw=(1, 2, 3))
    assert torch.allclose(targets.sum(1), torch.ones(8))
    assert torch.allclose(blended[:, 0, 0, 0], targets @ torch.arange(8.0), atol=1e-5)


def test_mixup_draws_the_same_for_the_same_step_and_another_for_each_other():
    images, labels = torch.rand(8, 3, 2, 2), torch.arange(8)
    first, again, other, epoch = (
        mixed(images, labels, alpha=0.4, classes=8, draw=draw)[0]
        for draw in ((1, 2, 3), (1, 2, 3), (1, 2, 4), (1, 3, 3))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, epoch)


@pytest.mark.parametrize("name", OWN)
def test_every_model_of_our_own_learns_from_a_batch(name):
    torch.manual_seed(0)
    side = 224 if name == "alexnet" else 64
    model = image_model(name, 7)
    scores = model(torch.rand(2, 3, side, side))
    scores.logsumexp(1).sum().backward()
    assert scores.shape == (2, 7)
    assert all(one.grad is not None and one.grad.isfinite().all() for one in model.parameters())


def test_residual_networks_have_as_many_weights_as_those_known_by_their_names():
    counted = {name: sum(one.numel() for one in image_model(name, 1000).parameters()) for name in OWN}
    assert counted["resnet18"] == 11_689_512
    assert counted["resnet50"] == 25_557_032
    assert counted["alexnet"] == 61_100_840


def test_the_model_of_clips_takes_frames():
    assert clip_model(27)(torch.rand(2, 3, 18, 84, 84)).shape == (2, 27)
    assert clip_model(5, frames=8, side=32)(torch.rand(2, 3, 8, 32, 32)).shape == (2, 5)


def test_a_model_that_nobody_knows_is_refused():
    with pytest.raises(UsageError, match="the model is unknown"):
        image_model("resnet1917", 10)


def test_a_log_is_lines_of_json_that_a_resumed_run_adds_to(tmp_path, capsys):
    for epoch in range(2):
        with Journal(str(tmp_path / "run"), Ranks(0, 1, CPU)) as journal:
            journal.say("hello")
            journal.note("epoch", epoch, epoch=epoch, loss=0.5)
    found = read_journal(tmp_path / "run" / "log.jsonl")
    assert [(one["kind"], one["epoch"], one["loss"]) for one in found] == [("epoch", 0, 0.5), ("epoch", 1, 0.5)]
    assert capsys.readouterr().err == "hello\nhello\n"


def test_other_ranks_write_and_say_nothing(tmp_path, capsys):
    with Journal(str(tmp_path / "run"), Ranks(1, 2, CPU)) as journal:
        journal.say("hello")
        journal.note("epoch", epoch=0)
    assert not (tmp_path / "run").exists()
    assert capsys.readouterr().err == ""


def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path):
    (tmp_path / "log.jsonl").write_text(json.dumps({"kind": "epoch"}) + "\n" + '{"kind": "ep')
    assert read_journal(tmp_path / "log.jsonl") == [{"kind": "epoch"}]


def stages(**busy: float) -> SimpleNamespace:
    """Statistics of stages that worked so long."""
    return SimpleNamespace(stages=tuple(StageStatistics(name, 1, 10, time, 0, 0, 0.5) for name, time in busy.items()))


@pytest.mark.parametrize(
    ("waits", "busy", "expected"),
    [
        ([0.1] * 10, {"read": 1, "decode": 9}, "loading does not hold it back"),
        ([5] * 10, {"read": 1, "decode": 9}, "decoding is"),
        ([5] * 10, {"read": 9, "decode": 1}, "the medium is too slow"),
        ([50, *[0.1] * 9], {"read": 9, "decode": 1}, r"most of it \(50.00 s\) for the first batch"),
        ([*[0.1] * 9, 50], {"read": 9, "decode": 1}, r"most of it \(50.00 s\) for step 9"),
    ],
)
def test_a_verdict_names_what_held_the_epoch_back(waits, busy, expected):
    progress = Progress("", 10)
    for number, seconds in enumerate(waits):
        progress.data_time.add(seconds)
        progress.step_time.add(seconds + 10)
        if seconds > progress.stall_seconds:
            progress.stall_seconds, progress.stall_step = seconds, number
    sentence = verdict(progress, stages(**busy))
    assert re.search(expected, sentence), sentence
