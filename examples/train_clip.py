"""Train a classifier of clips. What it shares with `train_image.py` is imported; here is what is peculiar to clips.

    python examples/train_clip.py --config configs/jester_gulp.json -g 0
    torchrun --nproc_per_node 2 examples/train_clip.py --config configs/jester_gulp.json -g 0,1

The configuration is JSON; a key that is left out has the value of DEFAULTS. `train_data_folder` and `val_data_folder`
are what holds clips:

    a packed dataset, a GulpIO directory       opened as they are
    a folder that has a folder of JPEG frames  packed once, beside the list (`train.csv` → `train.pen`), then opened
      for each id of the list

`train_data_csv` and `val_data_csv` are lists `id;label`, which say which clips are taken and what they show; without
one all clips are taken, with their own labels. `labels_csv` has a class per line, in the order of their numbers.

Training takes frames from a random place of each clip and crops the middle out of them; validation the first frames.
The learning rate goes down where validations show no progress, until it is below `last_lr`.

What it writes, below output_dir/model_name: log.jsonl, checkpoint.pth.tar, model_best.pth.tar, report.html with plots,
and with --eval_only test_results.npz (keys, scores, targets, classes).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel

import penstock
from penstock.errors import PenstockError, UsageError
from penstock.ingest.csv_20bn import classes_of, read_list
from penstock.report.training import write_page
from penstock.torch import Loader
from penstock.torch import training as parts
from penstock.transforms import CenterCrop, ClipSample, Normalize, ToDtype
from penstock.types import Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULTS: dict[str, Any] = {
    "model_name": "jester_conv_example",
    "checkpoint": None,
    "train_data_folder": None,
    "val_data_folder": None,
    "train_data_csv": None,
    "val_data_csv": None,
    "labels_csv": None,
    "num_workers": 10,
    "output_dir": "runs",
    "num_classes": 27,
    "batch_size": 64,
    "clip_size": 18,
    "nclips": 1,
    "step_size": 2,
    "lr": 0.001,
    "last_lr": 1e-5,
    "momentum": 0.9,
    "weight_decay": 1e-5,
    "num_epochs": -1,  # until the learning rate is below last_lr
    "print_freq": 100,
    # What the configurations that people have do not know:
    "side": 84,
    "seed": 0,
    "shuffle": "full",
    "amp": "float32",
}
FOREVER = 999_999
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def configured(path: str) -> dict[str, Any]:
    """Read a configuration."""
    try:
        given = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise UsageError("there is no such configuration", file=path, got=error.strerror) from error
    except ValueError as error:
        raise UsageError("the configuration is not JSON", file=path, got=str(error)) from error
    if not isinstance(given, dict) or given.keys() - DEFAULTS.keys():
        unknown = ", ".join(sorted(given.keys() - DEFAULTS.keys())) if isinstance(given, dict) else type(given).__name__
        raise UsageError("the configuration has unknown keys", file=path, got=unknown, expected=", ".join(DEFAULTS))
    found = {**DEFAULTS, **given}
    if found["train_data_folder"] is None or found["val_data_folder"] is None:
        raise UsageError("train_data_folder and val_data_folder are missing", file=path)
    return found


class Clips:
    """A part of the data: its clips, and the numbers of their classes."""

    def __init__(self, config: dict[str, Any], part: str, ranks: parts.Ranks) -> None:
        folder, listed = config[f"{part}_data_folder"], config[f"{part}_data_csv"]
        self.dataset = opened(folder, listed, config["labels_csv"], ranks)
        if not any(kind.endswith("clip") for kind in self.dataset.fields):
            raise UsageError("there are no clips in this", file=folder, got=", ".join(self.dataset.fields))
        if listed is not None:
            self.labels, self.classes = self._listed(listed, config["labels_csv"])
        else:
            self.labels, self.classes = np.array(self.dataset.labels("label"), np.int64), self.dataset.classes
        if len(self.labels) and self.labels.max() >= config["num_classes"]:
            got, expected = f"a class {self.labels.max()}", f"fewer than num_classes = {config['num_classes']}"
            raise UsageError("there are too many classes", file=folder, got=got, expected=expected)

    def _listed(self, path: str, names: str | None) -> tuple[NDArray[np.int64], tuple[str, ...] | None]:
        """Keep the clips of a list, in the order of the dataset; their labels are those of the list."""
        ids, labels = read_list(path)
        numbers, classes = classes_of(labels, names, path)
        if numbers is None:
            raise UsageError("the list has no labels", file=path, expected="id;label")
        keys = [self.dataset.key(number) for number in range(len(self.dataset))]
        label_of = dict(zip(ids, numbers.tolist(), strict=True))
        missing = label_of.keys() - set(keys)
        if missing:
            got = f"{len(missing)} of {len(ids)} clips, such as {min(missing)}"
            raise UsageError("clips of the list are not in the data", file=path, got=got)
        kept = [number for number, key in enumerate(keys) if key in label_of]
        self.dataset = self.dataset.select(np.array(kept, np.int64))
        return np.array([label_of[keys[number]] for number in kept], np.int64), classes


def opened(folder: str, listed: str | None, names: str | None, ranks: parts.Ranks) -> penstock.Dataset:
    """Open clips; folders of frames are packed first, once, by the first rank."""
    if listed is None or not Path(folder, read_list(listed)[0][0]).is_dir():
        return penstock.open(folder)
    packed = Path(listed).with_suffix(".pen")
    failed: PenstockError | None = None
    if ranks.is_first and not packed.exists():
        sys.stderr.write(f"=> packing the frames of {listed} into {packed}\n")
        try:
            penstock.pack(listed, packed, kind="20bn-frames", root=folder, labels=names)
        except PenstockError as error:
            failed = error
    if failures := [one for one in ranks.gathered(failed) if one is not None]:
        assert isinstance(failures[0], PenstockError)
        raise failures[0]
    return penstock.open(packed)


def loader_of(config: dict[str, Any], clips: Clips, ranks: parts.Ranks, *, trains: bool) -> Loader:
    """Make what loads clips: [B, 3, T, H, W] with mean 0 and deviation 1."""
    frames = config["clip_size"] * max(config["nclips"], 1)
    return Loader(
        clips.dataset,
        batch_size=config["batch_size"],
        transforms=[
            ClipSample(frames=frames, stride=config["step_size"], start="random" if trains else 0),
            CenterCrop(config["side"]),
            ToDtype("float32", scale=True),
            Normalize(MEAN, STD),
        ],
        fields=["clip", "label"],
        shuffle=config["shuffle"] if trains else False,
        seed=config["seed"],
        drop_last=trains,
        threads=config["num_workers"],
        device=ranks.device,
    )


class Labelled:
    """A loader whose labels are those of a list."""

    def __init__(self, loader: Loader, labels: NDArray[np.int64], device: torch.device) -> None:
        self.loader, self.device = loader, device
        self.labels = torch.from_numpy(labels)

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Any:
        return map(self.labelled, self.loader)

    def labelled(self, batch: Any) -> Any:
        """Give a batch the labels of its samples."""
        labels = self.labels[torch.from_numpy(np.asarray(batch.ids))].to(self.device, non_blocking=True)
        return Pair(batch[0], labels, batch.ids, batch.padding)


def run_of(
    config: dict[str, Any],
    ranks: parts.Ranks,
    journal: parts.Journal,
    stopping: parts.Stopping,
    every_steps: int | None,
) -> parts.Run:
    """Make model, optimiser, and the run that trains it."""
    torch.manual_seed(config["seed"])
    frames = config["clip_size"] * max(config["nclips"], 1)
    bare = parts.clip_model(config["num_classes"], frames=frames, side=config["side"]).to(ranks.device)
    where = [ranks.device] if ranks.device.type == "cuda" else None
    step = parts.Step(
        bare if ranks.count == 1 else DistributedDataParallel(bare, device_ids=where),
        torch.optim.SGD(bare.parameters(), config["lr"], config["momentum"], weight_decay=config["weight_decay"]),
        parts.Plateau(config["lr"], config["last_lr"]),
        ranks,
        config["num_classes"],
        precision=config["amp"],
        seed=config["seed"],
    )
    about = {"arch": "clips", **{name: config[name] for name in ("num_classes", "clip_size", "nclips", "side")}}
    keeping = parts.Keeping(folder_of(config), steps=every_steps)
    return parts.Run(step, journal, stopping, keeping, about=about, every=max(config["print_freq"], 1))


def folder_of(config: dict[str, Any]) -> Path:
    """Say where a run writes."""
    return Path(config["output_dir"], config["model_name"])


def train(
    config: dict[str, Any],
    found: argparse.Namespace,
    ranks: parts.Ranks,
    journal: parts.Journal,
    stopping: parts.Stopping,
) -> None:
    """Train, or with --eval_only validate."""
    folder = folder_of(config)
    journal.say(f"=> active GPUs: {found.gpus or 'none'}")
    journal.say(f"=> Output folder for this run -- {folder}")
    run = run_of(config, ranks, journal, stopping, found.checkpoint_steps)
    checkpoint = found.resume or config["checkpoint"]
    if checkpoint is not None:
        run.restore(checkpoint)
    journal.say(f" > Using {config['num_workers']} processes for data loader.")
    held = Clips(config, "val", ranks)
    validation = Labelled(loader_of(config, held, ranks, trains=False), held.labels, ranks.device)
    journal.note("options", **config, arch="3-D convolutions", data=config["train_data_folder"], ranks=ranks.count)
    if found.eval_only:
        tested(run, validation, held, folder)
        return
    clips = Clips(config, "train", ranks)
    labelled = Labelled(loader_of(config, clips, ranks, trains=True), clips.labels, ranks.device)
    if not len(labelled):
        got = f"{len(clips.dataset)} clips for {ranks.count} ranks with batches of {config['batch_size']}"
        raise UsageError("there is not one whole batch", file=config["train_data_folder"], got=got)
    epochs = FOREVER if config["num_epochs"] < 0 else config["num_epochs"]
    journal.say(" > Training is getting started...")
    journal.say(f" > Training takes {epochs} epochs.")
    feed = parts.Loaded(labelled.loader, change=labelled.labelled)
    reason = run.train(lambda _: feed, validation, until=epochs)
    feed.close()
    journal.say(f"=> {reason}")
    journal.note("end", reason=reason, epoch=run.epoch, done=run.done, best=run.best)
    if ranks.is_first:
        write_page(folder / "report.html", parts.read_journal(folder / "log.jsonl"))


def tested(run: parts.Run, validation: Labelled, held: Clips, folder: Path) -> None:
    """Validate, and keep the scores of every clip, in the order of their keys."""
    ranks = run.step.ranks
    own: list[tuple[Any, Any]] = []

    def keep(batch: Any, scores: torch.Tensor) -> None:
        own.append((np.asarray(batch.ids)[: len(scores)], scores.float().cpu().numpy()))

    run.validate(validation, keep)
    all_ = [one for some in ranks.gathered(own) for one in some]  # type: ignore[attr-defined]  # lists, of all ranks
    if not ranks.is_first:
        return
    ids = np.concatenate([numbers for numbers, _ in all_])
    keys = np.array([held.dataset.key(int(number)) for number in ids])
    order = np.argsort(keys)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(
        folder / "test_results.npz",
        keys=keys[order],
        scores=np.concatenate([found for _, found in all_])[order],
        targets=held.labels[ids][order],
        classes=np.array(held.classes or ()),
    )


def device_of(gpus: str | None, local_rank: int, count: int) -> str | None:
    """Choose the device of a rank from a list such as `0,1`; without a list, whatever there is."""
    if gpus is None or gpus == "cpu":
        return gpus
    chosen = gpus.split(",")
    if not all(one.isdecimal() for one in chosen):
        raise UsageError("-g lists the numbers of GPUs", got=gpus, expected="0 or 0,1 or cpu")
    if len(chosen) != count:
        hint = f"torchrun --nproc_per_node {len(chosen)} examples/train_clip.py …: a process for each GPU"
        raise UsageError("there is a process for each GPU", got=f"{gpus} and {count} processes", hint=hint)
    return f"cuda:{chosen[local_rank]}"


def main(arguments: list[str] | None = None) -> int:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-c", "--config", required=True, help="a configuration in JSON")
    parser.add_argument("-g", "--gpus", help="numbers of GPUs, a process for each; or cpu [a GPU where there is one]")
    parser.add_argument("-e", "--eval_only", action="store_true", help="validate, and keep the scores of every clip")
    parser.add_argument("-r", "--resume", help="a checkpoint to go on from, also in the middle of an epoch")
    parser.add_argument("--checkpoint-steps", type=int, help="keep one after so many steps of an epoch, too")
    parser.add_argument("--time-budget", type=float, help="stop after so many seconds")
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser.print_help()
        return 1
    found = parser.parse_args(given)
    try:
        config = configured(found.config)
        local, count = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        with (
            parts.joined(device_of(found.gpus, local, count)) as ranks,
            parts.Journal(str(folder_of(config)), ranks) as journal,
            parts.Stopping(found.time_budget) as stopping,
        ):
            train(config, found, ranks, journal, stopping)
    except (PenstockError, FloatingPointError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    parts.leave(main())
