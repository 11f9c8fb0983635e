"""The loops: gradients of several batches are those of one large batch, lines come when due, validation is exact."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from penstock.torch.training import Progress, Ranks, Schedule, Step, Stopping, evaluate, train_epoch

CPU = Ranks(0, 1, torch.device("cpu"))


def samples(count):
    """So many images of 2x2 and their labels."""
    draws = torch.Generator().manual_seed(3)
    return torch.rand(count, 3, 2, 2, generator=draws), torch.arange(count) % 4


def batches_of(count, size):
    images, labels = samples(count)
    return [(images[at : at + size], labels[at : at + size]) for at in range(0, count, size)]


def trained(batches, *, every=100, stopping=None, **options):
    """Weights of a linear model after an epoch, and the places of its lines."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.5, 0.9)
    step = Step(model, optimizer, Schedule("linear", 0.5, 1, end=0.5), CPU, 4, **options)
    lines = []
    progress = Progress("", len(batches))
    with Stopping() as mine:
        is_whole = train_epoch(
            step,
            batches,
            progress,
            epoch=0,
            stopping=stopping or mine,
            every=every,
            at_line=lambda one, _: lines.append(one.done),
        )
    return model[1].weight.detach(), lines, is_whole


def test_gradients_of_several_batches_make_the_step_of_one_large_batch():
    small, _, _ = trained(batches_of(48, 4), accumulate=3)
    large, _, _ = trained(batches_of(48, 12))
    assert torch.allclose(small, large, atol=1e-6)


def test_fewer_batches_at_the_end_are_averaged_over_as_many_as_there_are():
    small, _, _ = trained(batches_of(32, 4), accumulate=3)
    images, labels = samples(32)
    large, _, _ = trained([(images[at:to], labels[at:to]) for at, to in ((0, 12), (12, 24), (24, 32))])
    assert torch.allclose(small, large, atol=1e-6)


def test_lines_come_with_the_first_step_that_is_due():
    assert trained(batches_of(48, 4), every=4)[1] == [4, 8, 12]
    assert trained(batches_of(48, 4), every=4, accumulate=3)[1] == [6, 9, 12]
    assert trained(batches_of(48, 4))[1] == [12]


def test_a_signal_stops_one_rank_at_its_next_step_and_time_at_a_line():
    with Stopping() as stopping:
        stopping.reason = "SIGTERM"
        assert trained(batches_of(48, 4), every=5, stopping=stopping)[1:] == ([1], False)
    with Stopping(0) as stopping:
        assert trained(batches_of(48, 4), every=5, stopping=stopping)[1:] == ([5], False)


def test_a_loss_that_is_no_number_ends_the_run():
    images, labels = samples(8)
    with pytest.raises(FloatingPointError, match="lower the learning rate"):
        trained([(images * float("nan"), labels)])


class Padded(tuple):
    """A batch whose last samples only fill it up."""

    __slots__ = ()
    padding = 3


def test_a_validation_counts_each_sample_once_and_padding_never():
    images, labels = samples(11)
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 4))
    last = Padded((torch.cat([images[8:], images[:3]]), torch.cat([labels[8:], labels[:3]])))
    given = [(images[:4], labels[:4]), (images[4:8], labels[4:8]), last]
    seen = []
    found = evaluate(
        model,
        given,
        Progress("", 3),
        ranks=CPU,
        at_batch=lambda _, scores: seen.append(scores),
    )
    scores = model(images)
    assert found["samples"] == 11
    assert found["Loss"] == pytest.approx(functional.cross_entropy(scores, labels).item(), rel=1e-6)
    assert found["Prec@1"] == pytest.approx(100 * (scores.argmax(1) == labels).double().mean().item())
    assert found["Prec@5"] == 100
    assert torch.allclose(torch.cat(seen), scores)
    assert model.training


def test_a_rank_without_samples_takes_part_in_a_validation():
    images, labels = samples(4)
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 4))
    found = evaluate(model, [(images, labels), (images[:0], labels[:0])], Progress("", 2), ranks=CPU)
    assert found["samples"] == 4
