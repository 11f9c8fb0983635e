"""The loops: an epoch of training, and an exact validation.

Values stay on the device until a line is written: taking a loss off a GPU at every step would make the host wait for
the device at every step.

Validation counts every sample exactly once, on any number of ranks: sums are added up, never averages, and samples that
only fill a batch up (`batch.padding`) are left out.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from penstock.torch.training.mixup import mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from penstock.torch.training.average import WeightAverage
    from penstock.torch.training.meters import Progress
    from penstock.torch.training.ranks import Ranks
    from penstock.torch.training.schedule import Schedule
    from penstock.torch.training.stopping import Stopping

__all__ = ["Precision", "Step", "evaluate", "train_epoch"]

Precision = Literal["float32", "bf16", "fp16"]


@dataclass(frozen=True, slots=True)
class Step:
    """What a step of training is made of."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: Schedule
    ranks: Ranks
    classes: int
    precision: Precision = "float32"
    scaler: torch.amp.GradScaler | None = None  # for fp16
    accumulate: int = 1  # batches whose gradients are added up to one step of the optimizer
    label_smoothing: float = 0.0
    mixup: float = 0.0
    average: WeightAverage | None = None
    seed: int = 0

    def gradients(self, images: torch.Tensor, labels: torch.Tensor, draw: tuple[int, int], *, steps: bool) -> Any:
        """Run a batch forth and back; gives sums of loss and hits."""
        targets = labels
        if self.mixup:
            images, targets = mixed(images, labels, alpha=self.mixup, classes=self.classes, draw=(self.seed, *draw))
        alone = isinstance(self.model, DistributedDataParallel) and not steps
        with self.model.no_sync() if alone else nullcontext():  # type: ignore[operator]
            with casting(self.ranks.device, self.precision):
                scores = self.model(images)
                loss = functional.cross_entropy(scores, targets, label_smoothing=self.label_smoothing)
            share = loss / self.accumulate
            (share if self.scaler is None else self.scaler.scale(share)).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return sums(scores.detach(), labels, loss.detach())

    def update(self, rate: float) -> None:
        """Take a step of the optimizer."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update(bare(self.model))


def train_epoch(
    step: Step,
    batches: Iterable[Any],
    progress: Progress,
    *,
    epoch: int,
    stopping: Stopping,
    every: int = 100,
    at_line: Callable[[Progress, float], None] | None = None,
) -> bool:
    """Train on an epoch's batches, or on what is left of them (`progress.done` says how many went before).

    Every `every` batches `at_line` is called with the progress and the learning rate. Tells whether the epoch came to
    its end: not, where the ranks agreed to stop.
    """
    step.model.train()
    held: list[tuple[int, torch.Tensor]] = []
    rate = 0.0

    def end_line() -> None:
        take(progress, held)
        if at_line is not None:
            at_line(progress, rate)

    for batch in progress.timed(batches):
        images, labels = batch[0], batch[1]
        done = progress.done  # with this batch
        is_last = done % step.accumulate == 0 or done == progress.steps
        held.append((len(labels), step.gradients(images, labels, (epoch, done), steps=is_last)))
        progress.samples += len(labels) * step.ranks.count
        if is_last:
            rate = step.schedule.rate(epoch + (done - 1) / progress.steps)
            step.update(rate)
        del batch, images, labels
        if done % every == 0 and is_last:
            end_line()
            if done < progress.steps and stopping.agreed(step.ranks.device):
                return False
    if held:
        end_line()
    return True


@torch.no_grad()
def evaluate(
    model: nn.Module,
    batches: Iterable[Any],
    progress: Progress,
    *,
    ranks: Ranks,
    precision: Precision = "float32",
    every: int = 100,
    at_line: Callable[[Progress], None] | None = None,
) -> dict[str, float]:
    """Validate: loss and precisions over all samples of all ranks, each counted once."""
    model = bare(model)
    was_training = model.training
    model.eval()
    totals: dict[str, float] = {"samples": 0.0, "Loss": 0.0, "Prec@1": 0.0, "Prec@5": 0.0}
    try:
        for batch in progress.timed(batches):
            images, labels = batch[0], batch[1]
            fresh = len(labels) - getattr(batch, "padding", 0)
            with casting(ranks.device, precision):
                scores = model(images)[:fresh]
                loss = functional.cross_entropy(scores, labels[:fresh]) if fresh else scores.sum()
            found = sums(scores, labels[:fresh], loss).tolist()
            progress.add(fresh, **dict(zip(("Loss", "Prec@1", "Prec@5"), found, strict=True)))
            progress.samples += fresh
            for name, value in zip(totals, (fresh, *found), strict=True):
                totals[name] += value
            if at_line is not None and progress.done % every == 0:
                at_line(progress)
    finally:
        model.train(was_training)
    count, *values = ranks.summed(list(totals.values()))
    names = ("Loss", "Prec@1", "Prec@5")
    return {"samples": count, **{name: one / max(count, 1.0) for name, one in zip(names, values, strict=True)}}


def sums(scores: torch.Tensor, labels: torch.Tensor, loss: torch.Tensor) -> torch.Tensor:
    """Give [loss, hits among the first, hits among the first five], summed over a batch; hits in percent."""
    if not len(labels):
        return torch.zeros(3, dtype=torch.float64, device=scores.device)
    best = scores.topk(min(5, scores.shape[1]), dim=1).indices.eq(labels[:, None])
    hits = torch.stack([best[:, :1].sum(), best.sum()]).double() * 100
    return torch.cat([loss.double().reshape(1) * len(labels), hits])


def take(progress: Progress, held: list[tuple[int, torch.Tensor]]) -> None:
    """Take values off the device, where they were left since the last line."""
    count = sum(number for number, _ in held)
    loss, first, five = torch.stack([values for _, values in held]).sum(0).tolist()
    held.clear()
    if not math.isfinite(loss):
        what = f"{progress.name.strip()} the loss is {loss / count} before step {progress.done}"
        raise FloatingPointError(f"{what}: lower the learning rate, or add warm-up epochs")
    progress.add(count, **{"Loss": loss, "Prec@1": first, "Prec@5": five})


def casting(device: torch.device, precision: Precision) -> AbstractContextManager[Any]:
    """Compute in a shorter type where that is safe."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16 if precision == "bf16" else torch.float16)


def bare(model: nn.Module) -> nn.Module:
    """Give a model without what distributes it."""
    return model.module if isinstance(model, DistributedDataParallel) else model
