"""A run: epoch after epoch of training and validation, a log, and checkpoints from which it goes on bit by bit.

A checkpoint holds all that the next step depends on: weights, optimizer, scaler, learning rates, the state of random
generators (of each rank), the place in the data, and the sums of the epoch so far, so that a resumed epoch reports on
the whole of it. It is written after each epoch, wherever the run is stopped, and, if asked for, on the way.

All ranks take the same decisions at the same steps: what they decide by is summed over all of them first.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from penstock.errors import UsageError
from penstock.torch.training.checkpoint import load_checkpoint, random_state, restore_random_state, save_checkpoint
from penstock.torch.training.loop import evaluate, train_epoch
from penstock.torch.training.meters import Progress, hours_left
from penstock.torch.training.ranks import bare
from penstock.torch.training.schedule import Plateau
from penstock.torch.training.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from penstock.torch.training.feeds import Feed
    from penstock.torch.training.journal import Journal
    from penstock.torch.training.loop import Step
    from penstock.torch.training.stopping import Stopping

__all__ = ["Keeping", "Run"]

BEST = "model_best.pth.tar"


@final
@dataclass(frozen=True, slots=True)
class Keeping:
    """Which checkpoints are written, and where."""

    folder: Path
    name: str = "checkpoint.pth.tar"
    writes: bool = True
    every_epoch: bool = False  # keep one of each epoch, too
    steps: int | None = None  # write one at the first line after so many steps, too


@final
class Run:
    """What is trained, and where the run is: `epoch`, and the `done` batches of it."""

    def __init__(
        self,
        step: Step,
        journal: Journal,
        stopping: Stopping,
        keeping: Keeping,
        *,
        about: Mapping[str, Any],
        every: int = 100,
    ) -> None:
        self.step, self.journal, self.stopping, self.keeping = step, journal, stopping, keeping
        self.about, self.every = dict(about), every  # what the model is: no other's checkpoint fits
        self.epoch = self.done = 0
        self.best = 0.0
        self._feed_state: Mapping[str, Any] | None = None
        self._sums: Mapping[str, Any] | None = None

    def train(self, feed_of: Callable[[int], Feed], validation: Any, *, until: int) -> str:
        """Go through the epochs that are left before `until`; gives the reason why it ended.

        `feed_of` gives the training data of an epoch. `validation` gives the batches of the held-out data again and
        again, or is None.
        """
        begin, first = time.monotonic(), None
        while self.epoch < until:
            schedule = self.step.schedule
            if isinstance(schedule, Plateau) and schedule.is_over:
                return f"done: the learning rate is below {schedule.last:g}"
            feed = feed_of(self.epoch)
            progress, start = self._train_epoch(feed)
            first = start if first is None else first
            if self.done:
                return f"stopped by {self.stopping.reason} in epoch {self.epoch} after step {self.done}"
            found = self.validate(validation)
            is_best = found is not None and found["Prec@1"] > self.best
            if found is not None:
                self.best = max(self.best, found["Prec@1"])
            if isinstance(schedule, Plateau):
                schedule.observe(progress.values["Loss"].value if found is None else found["Loss"])
            self.save(feed, None, is_best=is_best)
            hours = hours_left(time.monotonic() - begin, self.epoch - first, until - first)
            self.journal.say(f"=> {hours:.2f} hours to completion, best Prec@1 {self.best:.3f}")
            if self.epoch < until and self.stopping.agreed(self.step.ranks.device):
                return f"stopped by {self.stopping.reason} after epoch {self.epoch - 1}"
        return "all epochs are done"

    def _train_epoch(self, feed: Feed) -> tuple[Progress, float]:
        """Train for an epoch or what is left of one; stopped on the way, leave a checkpoint there.

        Gives the progress, and where in the run it began, in epochs.
        """
        epoch, steps, journal = self.epoch, feed.steps, self.journal
        progress = Progress(f"Epoch: [{epoch}]", steps)
        if self._feed_state is not None:
            progress.done = feed.resume(self._feed_state)
            if self._sums is not None and progress.done:
                progress.load_state_dict(self._sums)
        elif self.done:
            journal.say(f"=> this data cannot be entered in the middle: epoch {epoch} begins anew")
        start, saved = epoch + progress.done / steps, progress.done
        self._feed_state, self._sums, self.done = None, None, 0
        journal.say(f" > Current LR : {self.step.schedule.rate(start):.6g}")

        def at_line(progress: Progress, rate: float) -> None:
            nonlocal saved
            latest = progress.latest()
            journal.say(progress.line())
            place = {"epoch": epoch, "step": progress.done, "lr": rate, "latest": latest}
            journal.note("line", epoch * steps + progress.done, **place, **progress.summary())
            often = self.keeping.steps
            if often is not None and progress.done - saved >= often and progress.done < steps:
                saved = self.done = progress.done
                self.save(feed, progress)
                self.done = 0

        with journal.shown(progress):
            is_whole = train_epoch(
                self.step,
                feed.batches(epoch),
                progress,
                epoch=epoch,
                stopping=self.stopping,
                every=self.every,
                at_line=at_line,
            )
        if not is_whole:
            self.done = progress.done
            self.save(feed, progress)
            return progress, start
        self.epoch = epoch + 1
        self._tell(epoch, progress, feed)
        return progress, start

    def _tell(self, epoch: int, progress: Progress, feed: Feed) -> None:
        """Sum an epoch up."""
        found, delivered = progress.summary(), self.step.ranks.gathered(feed.state())
        self.journal.note("epoch", epoch, epoch=epoch, **found, delivered=delivered)
        self.journal.say(f" > Time taken for this 1 train epoch = {found['seconds_taken']:.3f}")
        self.journal.say(
            f"=> epoch {epoch}: {found['samples_per_second']:.0f} samples/s, waiting for data "
            f"{found['stall_share']:.1%} of the time, at most {found['longest_stall_seconds']:.3f} s at a time"
        )
        statistics = feed.statistics()
        if statistics is not None:
            sentence = verdict(progress, statistics)
            self.journal.say(f"=> {sentence}")
            self.journal.note("verdict", epoch=epoch, verdict=sentence)

    def validate(
        self, batches: Iterable[Any] | None, at_batch: Callable[[Any, Any], None] | None = None
    ) -> dict[str, float] | None:
        """Validate the model, or the moving average of its weights."""
        if batches is None:
            return None
        model = bare(self.step.model) if self.step.average is None else self.step.average.model
        progress = Progress("Test: ", len(batches))  # type: ignore[arg-type]  # loaders have a length
        with self.journal.shown(progress):
            found = evaluate(
                model,
                batches,
                progress,
                ranks=self.step.ranks,
                precision=self.step.precision,
                every=self.every,
                at_line=lambda one: self.journal.say(one.line()),
                at_batch=at_batch,
            )
        seconds = progress.step_time.total
        self.journal.say(f" > Time taken for this 1 validation epoch = {seconds:.3f}")
        said = f" * Prec@1 {found['Prec@1']:.3f} Prec@5 {found['Prec@5']:.3f}"
        self.journal.say(f"{said} over {found['samples']:.0f} samples")
        self.journal.note("validation", self.epoch, epoch=self.epoch - 1, seconds_taken=seconds, **found)
        return found

    def save(self, feed: Feed, progress: Progress | None, *, is_best: bool = False) -> None:
        """Write a checkpoint; all ranks take part, the first one writes. In an epoch `progress` is how it goes."""
        step, keeping = self.step, self.keeping
        step.ranks.same_buffers(step.model)
        randoms = step.ranks.gathered(random_state())
        delivered = step.ranks.gathered(feed.state())
        if not keeping.writes or not step.ranks.is_first:
            return
        schedule = step.schedule
        state = {
            "about": self.about,
            "model": bare(step.model).state_dict(),
            "optimizer": step.optimizer.state_dict(),
            "scaler": None if step.scaler is None else step.scaler.state_dict(),
            "schedule": schedule.state_dict() if isinstance(schedule, Plateau) else None,
            "average": None if step.average is None else step.average.state_dict(),
            "randoms": randoms,
            "loader": delivered[0],
            "delivered": delivered,
            "epoch": self.epoch,
            "done": self.done,
            "sums": None if progress is None else progress.state_dict(),
            "best": self.best,
        }
        save_checkpoint(keeping.folder / keeping.name, state)
        if is_best:
            save_checkpoint(keeping.folder / BEST, state)
        if keeping.every_epoch and not self.done:
            save_checkpoint(keeping.folder / f"checkpoint-{self.epoch}.pth.tar", state)

    def restore(self, path: str) -> None:
        """Go on from a checkpoint."""
        state, step = load_checkpoint(path), self.step
        if state.get("about") != self.about:
            got, expected = (_listed(one) for one in (state.get("about") or {}, self.about))
            raise UsageError("the checkpoint is of another model", file=path, got=got, expected=expected)
        bare(step.model).load_state_dict(state["model"])
        step.optimizer.load_state_dict(state["optimizer"])
        schedule = step.schedule if isinstance(step.schedule, Plateau) else None
        kept = ((step.scaler, "scaler"), (step.average, "average"), (schedule, "schedule"))
        for mine, name in kept:
            if mine is not None and state[name] is not None:
                mine.load_state_dict(state[name])
        randoms = state["randoms"]
        restore_random_state(randoms[step.ranks.rank if step.ranks.rank < len(randoms) else 0])
        self.epoch, self.done, self.best = state["epoch"], state["done"], state["best"]
        self._feed_state, self._sums = (state["loader"], state["sums"]) if self.done else (None, None)
        self.journal.say(f"=> resumed from {path}: epoch {self.epoch}, step {self.done}")


def _listed(about: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in about.items()) or "nothing that says which"
