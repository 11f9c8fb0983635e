"""One rank of a training run that may be killed at any moment. Run by test_resume_kill.py, a process for each rank.

    python -m tests.training PART        a Part, as JSON; which rank it is comes from the environment, as under torchrun

With its loader it does what a trainer does: it goes on from a checkpoint, takes a batch per step, and saves its state
every few steps, under another name first. Each step is also logged: the epoch, and of every sample that is no padding
its number and a digest of its pixels. Logged first, then saved, so that a checkpoint never has a step that the log
lacks.

Each step waits for a line on stdin, or for its end, and is reported on stdout. So whoever has granted some steps can
kill the process at any moment of them, and of the loading ahead, and it has not come to its own end before that.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.loader import Loader, verify_resume
from penstock.order import WindowShuffle
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

if TYPE_CHECKING:
    from collections.abc import Iterator

EPOCHS = 4
STEPS_PER_CHECKPOINT = 3
AUGMENT = (RandomResizedCrop(16), RandomHorizontalFlip())


@dataclass(frozen=True)
class Part:
    """A part of a run, from a start or a resume to a kill or the end. Parts of one run share dataset and shuffle."""

    dataset: str
    shuffle: Any  # False, "full", or the settings of a WindowShuffle
    folder: str = ""  # where its log and its checkpoints go
    states: tuple[dict[str, Any], ...] = ()  # of the checkpoint from which it goes on: one of each rank that saved it
    world_size: int = 1
    batch_size: int = 5
    threads: int = 1
    memory: int | None = None
    pads_last: bool = False
    uses_torch: bool = False
    sets_epochs: bool = False  # iterates epoch by epoch; otherwise in one go

    def loader(self) -> Any:
        """A loader with these settings."""
        kind, options = Loader, {}
        if self.uses_torch:
            from penstock.torch import Loader as TensorLoader

            kind, options = TensorLoader, {"device": "cpu"}  # which adds a stage that batches wait in
        return kind(
            self.dataset,
            batch_size=self.batch_size,
            transforms=AUGMENT,
            shuffle=WindowShuffle(**self.shuffle) if isinstance(self.shuffle, dict) else self.shuffle,
            seed=3,
            threads=self.threads,
            memory=self.memory,
            pad_last=self.pads_last,
            **options,
        )


def batches_of(loader: Any, *, sets_epochs: bool) -> Iterator[tuple[int, Any]]:
    """What is left of the run's epochs, each batch with the number of its epoch."""
    first = loader.epoch
    if sets_epochs:
        for epoch in range(first, EPOCHS):
            loader.set_epoch(epoch)
            yield from ((epoch, batch) for batch in loader)
    else:
        for epoch, batches in enumerate(loader.epochs(EPOCHS - first), first):
            yield from ((epoch, batch) for batch in batches)


def samples_of(epoch: int, batch: Any) -> list[tuple[int, int, str]]:
    """Epoch, number and digest of the pixels of each sample that is no padding."""
    count = len(batch.ids) - batch.padding
    digests = [
        hashlib.blake2b(np.asarray(image).tobytes(), digest_size=8).hexdigest() for image in batch.images[:count]
    ]
    return [(epoch, number, digest) for number, digest in zip(batch.ids[:count].tolist(), digests, strict=True)]


def save(path: Path, state: dict[str, Any]) -> None:
    """All of it or nothing."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(state))
    unfinished.replace(path)


def main(given: str) -> None:
    """Train."""
    part, rank = Part(**json.loads(given)), os.environ["RANK"]
    folder = Path(part.folder)
    with part.loader() as loader, (folder / f"log.{rank}").open("w") as log:
        if part.states:
            verify_resume(loader, part.states)
            loader.load_state_dict(part.states[int(rank) % len(part.states)])
        for step, (epoch, batch) in enumerate(batches_of(loader, sets_epochs=part.sets_epochs), 1):
            sys.stdin.readline()
            log.write(json.dumps(samples_of(epoch, batch)) + "\n")
            log.flush()
            if step % STEPS_PER_CHECKPOINT == 0:
                save(folder / f"{step}.{rank}.json", loader.state_dict())
            sys.stdout.write(f"{step}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
