"""Train an image classifier. One file, to be copied and changed; the parts that are easily got wrong are imported.

    python examples/train_image.py -d DATA -a resnet50 -b 256 -e 90 --lr 0.256 --lr-policy cosine --mom 0.875 \
        --wd 3.0517578125e-05 --label-smoothing 0.1 --warmup 5 --amp -n first
    torchrun --nproc_per_node 8 examples/train_image.py …

DATA has the two parts `train` and `val`: packed (`train.pen`), or folders of images, or whatever else `penstock.open`
takes. With --stages and --datasets a run goes through several of them, one learning-rate schedule over all.

What it writes, below --workspace/NAME: log.jsonl (options, lines, epochs, validations), checkpoint.pth.tar after every
epoch and wherever the run was stopped, model_best.pth.tar. --resume goes on from a checkpoint, also in the middle of an
epoch, with the same losses as if nothing had happened; on another number of ranks with the same order of the data.

SIGTERM, Ctrl-C and the end of --time-budget stop it cleanly, all ranks together.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import penstock
from penstock.errors import PenstockError, UsageError
from penstock.torch import Loader
from penstock.torch import training as parts
from penstock.transforms import CenterCrop, Normalize, RandomHorizontalFlip, RandomResizedCrop, Resize, ToDtype

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHERS = {  # loaders of others, which are raced in penstock.bench: each needs its library
    "pytorch": "pytorch",
    "torchvision": "torchvision",
    "lmdb": "lmdb",
    "webdataset": "webdataset",
    "dali-cpu": "dali",
    "dali-gpu": "dali-gpu",
    "ffcv": "ffcv",
}


def options(arguments: list[str] | None = None) -> argparse.Namespace:  # noqa: PLR0915  one line per option
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-d", "--data", help="the folder of train and val")
    add("-a", "--arch", default="resnet50", help="a built-in model, or any of torchvision's where that is installed")
    add("-l", "--data-loader", default="penstock", choices=["penstock", "synthetic", *OTHERS])
    add("-w", "-j", "--workers", type=int, help="threads that decode, or a peer's processes [the cores of this rank]")
    add("-b", "--batch-size", type=int, default=256, help="per rank")
    add("-e", "--epochs", type=int, default=90)
    add("--run-epochs", type=int, help="stop after so many, with the schedule of --epochs")
    add("-p", "--print-freq", type=int, default=100)
    add("-n", "--experiment-name", default="run")
    add("--workspace", default=os.environ.get("DL2_HOME", "runs"))
    add("--lr", type=float, default=0.1)
    add("--lr-policy", default="cosine", choices=parts.POLICIES)
    add("--warmup", type=float, default=0.0, help="epochs in which the rate rises to --lr")
    add("--end-lr", type=float, default=0.0)
    add("--mom", "--momentum", type=float, default=0.875)
    add("--nesterov", action="store_true")
    add("--wd", "--weight-decay", type=float, default=1e-4)
    add("--bn-weight-decay", action="store_true", help="decay biases and the weights of normalisation, too")
    add("--optimizer", default="sgd", choices=["sgd", "rmsprop"])
    add("--rmsprop-alpha", type=float, default=0.9)
    add("--rmsprop-eps", type=float, default=1e-3)
    add("--optimizer-batch-size", type=int, default=-1, help="add gradients up to this many samples of all ranks")
    add("--label-smoothing", type=float, default=0.0)
    add("--mixup", type=float, default=0.0, help="the alpha of its Beta distribution")
    add("--ema", type=float, help="keep a moving average of the weights with this decay, and validate it")
    add("--amp", nargs="?", const="fp16", choices=["fp16", "bf16"], help="compute in a shorter type [fp16]")
    add("--static-loss-scale", type=float, default=1.0)
    add("--dynamic-loss-scale", action="store_true")
    add("--memory-format", default="nchw", choices=["nchw", "nhwc"])
    add("--image-size", type=int, default=224)
    add("--interpolation", default="bilinear", choices=["bilinear"])
    add("--data-mean", type=numbers, default=[122.655, 116.535, 104.04], help="of 0 to 255, per channel")
    add("--data-std", type=numbers, default=[59.415, 58.395, 58.65])
    add("--shuffle", default="full", choices=["full", "window"], help="window: for media that dislike seeking")
    add("--memory", type=int, help="bytes for everything that is read ahead")
    add("--cache", help="a folder on a local disk in which the data is kept")
    add("--cache-size", type=int, help="bytes of --cache [what there is room for]")
    add("--fraction", type=float, default=1.0, help="train on this share of the samples, the same ones every time")
    add("--num-classes", type=int, help="[those of the data]")
    add("--pretrained-weights", help="weights of a model to begin with")
    add("--freeze-inner-layers", action="store_true", help="train the last layer only")
    add("--resume", help="a checkpoint to go on from")
    add("--checkpoint-filename", default="checkpoint.pth.tar")
    add("--backup-checkpoints", action="store_true", help="keep the checkpoint of every epoch")
    add("--no-checkpoints", action="store_true")
    add("--skip-training", "--evaluate", action="store_true")
    add("--skip-validation", action="store_true")
    add("--synth-train-samples", type=int, default=12_800)
    add("--stages", type=counts, help="epochs of each stage, for --datasets: 45,45")
    add("--datasets", help="the folders of the stages, with a comma between them")
    add("--time-budget", type=seconds, help="stop after this long: 90m, 10h")
    add("--seed", type=int, default=0)
    add("--device", help="cpu, cuda [a GPU where there is one]")
    add("--tensorboard", action="store_true")
    found = parser.parse_args(arguments)
    if (found.stages is None) != (found.datasets is None):
        parser.error("--stages and --datasets go together")
    if found.stages is not None:
        found.datasets = found.datasets.split(",")
        if len(found.datasets) != len(found.stages):
            parser.error(f"{len(found.stages)} stages, but {len(found.datasets)} datasets")
        found.epochs = sum(found.stages)
    elif found.data is None and found.data_loader != "synthetic":
        parser.error("-d DATA is missing")
    return found


def numbers(text: str) -> list[float]:
    """Read numbers with commas between them."""
    return [float(part) for part in text.split(",")]


def counts(text: str) -> list[int]:
    """Read whole numbers with commas between them."""
    return [int(part) for part in text.split(",")]


def seconds(text: str) -> float:
    """Read a time: 30s, 90m, 10h."""
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1:]]


# Data: each kind has `batches(epoch)`, `steps`, and what it needs to go on in the middle of an epoch.


@dataclass
class Packed:
    """Batches by penstock."""

    loader: Loader

    @property
    def steps(self) -> int:
        """Count the batches of an epoch."""
        return len(self.loader)

    def batches(self, epoch: int) -> Iterator[Any]:
        """Give the batches of an epoch, or after `resume`, what is left of it."""
        self.loader.set_epoch(epoch)
        return iter(self.loader)


@dataclass
class Synthetic:
    """One batch again and again, on the device: what the model can do if nothing has to be loaded."""

    images: torch.Tensor
    labels: torch.Tensor
    steps: int

    def batches(self, epoch: int) -> Iterator[Any]:
        """Give the same batch for each step."""
        del epoch
        return itertools.repeat((self.images, self.labels), self.steps)


@dataclass
class Other:
    """Batches by another library, as it is raced in penstock.bench; labels by the numbers of the samples."""

    epochs: Iterator[Any]
    labels: torch.Tensor
    steps: int
    device: torch.device
    mean: torch.Tensor
    std: torch.Tensor

    def batches(self, epoch: int) -> Iterator[Any]:
        """Give the batches of the next epoch: these libraries have no others."""
        del epoch
        for images, ids in next(self.epochs):
            found = torch.as_tensor(np.asarray(images)) if not isinstance(images, torch.Tensor) else images
            pixels = found.to(self.device, non_blocking=True).float()
            yield (pixels - self.mean) / self.std, self.labels[torch.as_tensor(np.asarray(ids)).cpu().long().flatten()]


def place(data: str, part: str) -> Path:
    """Find a part of the data: packed, or as it is."""
    for name in (f"{part}.pen", part, f"{part}.tar", f"{part}.lmdb"):
        if (Path(data) / name).exists():
            return Path(data) / name
    raise UsageError(f"there is no {part} data", file=data, expected=f"{part}.pen, or a folder {part}")


def opened(found: argparse.Namespace, data: str, part: str) -> penstock.Dataset:
    """Open a part of the data, through a cache if one was asked for."""
    cache = None if found.cache is None else penstock.Cache(found.cache, found.cache_size)
    dataset = penstock.open(place(data, part), cache=cache)
    if part == "train" and found.fraction < 1:
        chosen = np.random.default_rng(found.seed).permutation(len(dataset))[: round(found.fraction * len(dataset))]
        return dataset.select(np.sort(chosen))
    return dataset


def training_data(found: argparse.Namespace, data: str | None, ranks: parts.Ranks) -> tuple[Any, int]:
    """Give what yields training batches, and how many classes there are."""
    if found.data_loader == "synthetic":
        shape, count = (found.batch_size, 3, found.image_size, found.image_size), found.num_classes or 1000
        images = torch.randn(
            shape, device=ranks.device, generator=torch.Generator(ranks.device).manual_seed(found.seed)
        )
        labels = torch.arange(found.batch_size, device=ranks.device) % count
        return Synthetic(images, labels, max(found.synth_train_samples // found.batch_size // ranks.count, 1)), count
    assert data is not None
    dataset = opened(found, data, "train")
    if "label" not in dataset.label_names:
        raise UsageError(
            "the data has no classes", file=dataset.path, got=dataset.label_names, expected="a label `label`"
        )
    classes = found.num_classes or (len(dataset.classes) if dataset.classes else int(dataset.labels("label").max()) + 1)
    if found.data_loader == "penstock":
        return Packed(
            Loader(
                dataset,
                batch_size=found.batch_size,
                transforms=[RandomResizedCrop(found.image_size), RandomHorizontalFlip(), *normalised(found)],
                fields=["image", "label"],
                shuffle=found.shuffle,
                seed=found.seed,
                drop_last=True,
                threads=found.workers,
                memory=found.memory,
                device=ranks.device,
                memory_format=memory_format(found),
            )
        ), classes
    if ranks.count > 1:
        raise UsageError("loaders of others run on one rank here", got=f"{found.data_loader} on {ranks.count} ranks")
    return other(found, place(data, "train"), dataset, ranks), classes


def other(found: argparse.Namespace, folder: Path, dataset: penstock.Dataset, ranks: parts.Ranks) -> Other:
    """Begin to load by another library, from the folder of images."""
    from penstock.bench import Case
    from penstock.bench.child import prepare
    from penstock.bench.peers import load

    workers = found.workers or len(os.sched_getaffinity(0))
    case = Case.of(str(folder), size=found.image_size, batch_size=found.batch_size, workers=workers, seed=found.seed)
    peer = load(OTHERS[found.data_loader])
    prepare(peer, case)
    labels = torch.from_numpy(np.asarray(dataset.labels("label"))).to(ranks.device)
    mean, std = (torch.tensor(one, device=ranks.device).view(1, 3, 1, 1) for one in (found.data_mean, found.data_std))
    return Other(iter(peer.epochs(case)), labels, -(-len(dataset) // found.batch_size), ranks.device, mean, std)


def validation_data(found: argparse.Namespace, data: str, ranks: parts.Ranks) -> Loader:
    """Give the batches of the validation set: every sample once, on any number of ranks."""
    side = found.image_size
    return Loader(
        opened(found, data, "val"),
        batch_size=found.batch_size,
        transforms=[Resize(round(side * 256 / 224)), CenterCrop(side), *normalised(found)],
        fields=["image", "label"],
        shuffle=False,
        threads=found.workers,
        memory=found.memory,
        device=ranks.device,
        memory_format=memory_format(found),
    )


def normalised(found: argparse.Namespace) -> list[Any]:
    """Bring pixels to mean 0 and deviation 1."""
    mean, std = ([one / 255 for one in values] for values in (found.data_mean, found.data_std))
    return [ToDtype("float32", scale=True), Normalize(mean, std)]


def memory_format(found: argparse.Namespace) -> torch.memory_format:
    """Say how images lie in memory."""
    return torch.channels_last if found.memory_format == "nhwc" else torch.contiguous_format


# Model and optimiser.


def model_of(found: argparse.Namespace, classes: int, ranks: parts.Ranks) -> nn.Module:
    """Make the model."""
    torch.manual_seed(found.seed)
    model = parts.image_model(found.arch, classes)
    if found.pretrained_weights:
        state = parts.load_checkpoint(found.pretrained_weights)
        model.load_state_dict(state.get("model", state))
    if found.freeze_inner_layers:
        model.requires_grad_(requires_grad=False)
        [one for one in model.modules() if isinstance(one, nn.Linear)][-1].requires_grad_()
    model.to(ranks.device)
    if found.memory_format == "nhwc":
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs do not know it
    if ranks.count == 1:
        return model
    return DistributedDataParallel(model, device_ids=[ranks.device] if ranks.device.type == "cuda" else None)


def optimizer_of(found: argparse.Namespace, model: nn.Module) -> torch.optim.Optimizer:
    """Make the optimiser. By default biases and the weights of normalisation are not decayed."""
    trained = [one for one in model.parameters() if one.requires_grad]
    matrices = [one for one in trained if one.ndim > 1 or found.bn_weight_decay]
    others = [one for one in trained if one.ndim <= 1 and not found.bn_weight_decay]
    groups = [{"params": matrices, "weight_decay": found.wd}, {"params": others, "weight_decay": 0.0}]
    if found.optimizer == "rmsprop":
        return torch.optim.RMSprop(groups, found.lr, found.rmsprop_alpha, found.rmsprop_eps, momentum=found.mom)
    return torch.optim.SGD(groups, found.lr, found.mom, nesterov=found.nesterov)


# The run.


class Run:
    """Everything that a checkpoint holds, and where the run is."""

    def __init__(self, found: argparse.Namespace, classes: int, ranks: parts.Ranks) -> None:
        self.found, self.ranks, self.classes = found, ranks, classes
        self.folder = Path(found.workspace) / found.experiment_name
        self.model = model_of(found, classes, ranks)
        bare = self.model.module if isinstance(self.model, DistributedDataParallel) else self.model
        self.average = None if found.ema is None else parts.WeightAverage(bare, found.ema)
        together = found.batch_size * ranks.count
        scaled = found.amp == "fp16" and ranks.device.type == "cuda"
        scaler = None
        if scaled:
            scaler = torch.amp.GradScaler(
                init_scale=2.0**16 if found.dynamic_loss_scale else found.static_loss_scale,
                growth_interval=2000 if found.dynamic_loss_scale else 2**31 - 1,
            )
        self.step = parts.Step(
            self.model,
            optimizer_of(found, bare),
            parts.Schedule(found.lr_policy, found.lr, found.epochs, found.warmup, found.end_lr),
            ranks,
            classes,
            precision=found.amp or "float32",
            scaler=scaler,
            accumulate=max(round(found.optimizer_batch_size / together), 1),
            label_smoothing=found.label_smoothing,
            mixup=found.mixup,
            average=self.average,
            seed=found.seed,
        )
        self.bare, self.best, self.epoch, self.steps_done = bare, 0.0, 0, 0
        self.loader_state: dict[str, Any] | None = None

    def save(self, data: Any, *, is_best: bool = False) -> None:
        """Write a checkpoint; all ranks take part, the first one writes."""
        randoms = self.ranks.gathered(parts.random_state())
        if self.found.no_checkpoints or not self.ranks.is_first:
            return
        state = {
            "model": self.bare.state_dict(),
            "optimizer": self.step.optimizer.state_dict(),
            "scaler": None if self.step.scaler is None else self.step.scaler.state_dict(),
            "average": None if self.average is None else self.average.state_dict(),
            "randoms": randoms,
            "loader": data.loader.state_dict() if isinstance(data, Packed) else None,
            "epoch": self.epoch,
            "steps_done": self.steps_done,
            "best": self.best,
            "arch": self.found.arch,
            "classes": self.classes,
        }
        parts.save_checkpoint(self.folder / self.found.checkpoint_filename, state)
        if is_best:
            parts.save_checkpoint(self.folder / "model_best.pth.tar", state)
        if self.found.backup_checkpoints and not self.steps_done:
            parts.save_checkpoint(self.folder / f"checkpoint-{self.epoch}.pth.tar", state)

    def restore(self, path: str) -> None:
        """Go on from a checkpoint."""
        state = parts.load_checkpoint(path)
        if (state.get("arch"), state.get("classes")) != (self.found.arch, self.classes):
            got = f"{state.get('arch')} for {state.get('classes')} classes"
            expected = f"{self.found.arch} for {self.classes}"
            raise UsageError("the checkpoint is of another model", file=path, got=got, expected=expected)
        self.bare.load_state_dict(state["model"])
        self.step.optimizer.load_state_dict(state["optimizer"])
        for mine, theirs in ((self.step.scaler, state["scaler"]), (self.average, state["average"])):
            if mine is not None and theirs is not None:
                mine.load_state_dict(theirs)
        randoms = state["randoms"]
        parts.restore_random_state(randoms[self.ranks.rank if self.ranks.rank < len(randoms) else 0])
        self.epoch, self.steps_done, self.best = state["epoch"], state["steps_done"], state["best"]
        self.loader_state = state["loader"]


def stage_of(found: argparse.Namespace, epoch: int) -> str:
    """Say which data an epoch trains on."""
    if found.stages is None:
        return str(found.data)
    ends = list(itertools.accumulate(found.stages))
    return str(found.datasets[next(number for number, end in enumerate(ends) if epoch < end)])


def train(found: argparse.Namespace, ranks: parts.Ranks, journal: parts.Journal, stopping: parts.Stopping) -> None:
    """Run all epochs that are left."""
    at = stage_of(found, 0)
    data, classes = training_data(found, at, ranks)
    run = Run(found, classes, ranks)
    if found.resume:
        run.restore(found.resume)
    first = run.epoch
    last = min(found.epochs, first + found.run_epochs) if found.run_epochs else found.epochs
    has_validation = not found.skip_validation and found.data_loader != "synthetic"
    validation = validation_data(found, stage_of(found, found.epochs - 1), ranks) if has_validation else None
    journal.note("options", **vars(found), ranks=ranks.count, classes=classes)
    journal.say(f"=> {found.arch}, {classes} classes, {data.steps} steps of {found.batch_size} on {ranks.count} ranks")
    if found.skip_training:
        last = first
        validate(run, validation, journal)
    spent, reason = 0.0, "all epochs are done"
    while run.epoch < last:
        if stage_of(found, run.epoch) != at:
            at = stage_of(found, run.epoch)
            data, _ = training_data(found, at, ranks)
        progress = run_epoch(run, data, journal, stopping)
        if run.steps_done:
            reason = f"stopped by {stopping.reason} in epoch {run.epoch} after step {run.steps_done}"
            break
        spent += progress.step_time.total
        before = run.best
        validate(run, validation, journal)
        run.save(data, is_best=run.best > before)
        hours = parts.hours_left(spent, run.epoch - first, last - first)
        journal.say(f"=> {hours:.2f} hours to completion, best Prec@1 {run.best:.3f}")
        if run.epoch < last and stopping.agreed(ranks.device):
            reason = f"stopped by {stopping.reason} after epoch {run.epoch - 1}"
            break
    journal.say(f"=> {reason}")
    journal.note("end", reason=reason, epoch=run.epoch, steps=run.steps_done, best=run.best)


def run_epoch(run: Run, data: Any, journal: parts.Journal, stopping: parts.Stopping) -> parts.Progress:
    """Train for an epoch, or for what is left of one; stopped on the way, leave a checkpoint there."""
    epoch, steps = run.epoch, data.steps
    if run.loader_state is not None and isinstance(data, Packed):
        data.loader.load_state_dict(run.loader_state)
    run.loader_state = None
    progress = parts.Progress(f"Epoch: [{epoch}]", steps, done=run.steps_done)

    def at_line(progress: parts.Progress, rate: float) -> None:
        journal.say(progress.line())
        journal.note("line", epoch * steps + progress.done, epoch=epoch, lr=rate, **progress.summary())

    every = run.found.print_freq
    done = parts.train_epoch(
        run.step, data.batches(epoch), progress, epoch=epoch, stopping=stopping, every=every, at_line=at_line
    )
    if not done:
        run.steps_done = progress.done
        run.save(data)
        return progress
    run.epoch, run.steps_done = epoch + 1, 0
    found = progress.summary()
    journal.note("epoch", epoch, epoch=epoch, **found)
    journal.say(
        f"=> epoch {epoch}: {found['seconds']:.1f} s, {found['samples_per_second']:.0f} images/s, waiting for data "
        f"{found['stall_share']:.1%} of it, at most {found['longest_stall_seconds']:.3f} s at a time"
    )
    if isinstance(data, Packed):
        journal.say(f"=> {parts.verdict(progress, data.loader.statistics())}")
    return progress


def validate(run: Run, validation: Loader | None, journal: parts.Journal) -> None:
    """Validate the model, or its moving average; note whether it is the best so far."""
    if validation is None:
        return
    model = run.bare if run.average is None else run.average.model
    progress = parts.Progress("Test: ", len(validation))
    found = parts.evaluate(
        model,
        validation,
        progress,
        ranks=run.ranks,
        precision=run.step.precision,
        every=run.found.print_freq,
        at_line=lambda one: journal.say(one.line()),
    )
    run.best = max(run.best, found["Prec@1"])
    journal.say(f" * Prec@1 {found['Prec@1']:.3f} Prec@5 {found['Prec@5']:.3f} over {found['samples']:.0f} samples")
    journal.note("validation", run.epoch, epoch=run.epoch - 1, seconds=progress.step_time.total, **found)


def main(arguments: list[str] | None = None) -> int:
    """Train."""
    found = options(arguments)
    try:
        with (
            parts.joined(found.device) as ranks,
            parts.Journal(
                str(Path(found.workspace) / found.experiment_name), ranks, tensorboard=found.tensorboard
            ) as log,
            parts.Stopping(found.time_budget) as stopping,
        ):
            train(found, ranks, log, stopping)
    except PenstockError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
