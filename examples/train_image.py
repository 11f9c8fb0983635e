"""Train an image classifier. One file, to be copied and changed; the parts that are easily got wrong are imported.

    python examples/train_image.py -d DATA -a resnet50 -b 256 -e 50 --lr 0.256 --lr-policy cosine --mom 0.875 \
        --wd 3.0517578125e-05 --label-smoothing 0.1 --amp --static-loss-scale 128 --memory-format nhwc -n first
    torchrun --nproc_per_node 8 examples/train_image.py …

DATA has the two parts `train` and `val`: packed (`train.pen`), or folders of images, or whatever else `penstock.open`
takes. With --stages and --datasets a run goes through several of them, one learning-rate schedule over all.

What it writes, below --workspace/NAME: log.jsonl (options, lines, epochs, validations), checkpoint.pth.tar after every
epoch and wherever the run was stopped, model_best.pth.tar, with --report a page with plots. --resume goes on from a
checkpoint, also in the middle of an epoch, with the same losses as if nothing had happened; on another number of ranks
with the same order of the data.

SIGTERM, Ctrl-C and the end of --time-budget stop it cleanly, all ranks together.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import penstock
from penstock.errors import PenstockError, UsageError
from penstock.pipeline.cores import allowed_cores
from penstock.report.training import write_page
from penstock.torch import Loader
from penstock.torch import training as parts
from penstock.transforms import CenterCrop, Normalize, RandomHorizontalFlip, RandomResizedCrop, Resize, ToDtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    add(
        "-w",
        "-j",
        "--workers",
        type=int,
        help="threads that decode, or others' processes [the cores of this rank]",
    )
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
    add("--checkpoint-steps", type=int, help="keep one after so many steps of an epoch, too")
    add("--no-checkpoints", action="store_true")
    add("--skip-training", "--evaluate", action="store_true")
    add("--skip-validation", action="store_true")
    add("--synth-train-samples", type=int, default=12_800)
    add("--profile-n", type=int, help="train on the first so many steps of each epoch")
    add("--stages", type=counts, help="epochs of each stage, for --datasets: 45,45")
    add("--datasets", help="the folders of the stages, with a comma between them")
    add("--time-budget", type=seconds, help="stop after this long: 90m, 10h")
    add("--seed", type=int, default=0)
    add("--device", help="cpu, cuda [a GPU where there is one]")
    add("--report-file", default="log.jsonl", help="the name of the log")
    add("--report", action="store_true", help="write a page with plots of loss, accuracy and waiting: report.html")
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


# Data.


@dataclass
class Other:
    """Batches by another library, as it is raced in penstock.bench; labels by the numbers of the samples."""

    name: str
    epochs: Iterator[Any]
    labels: torch.Tensor
    steps: int
    ranks: parts.Ranks
    mean: torch.Tensor
    std: torch.Tensor

    def batches(self, epoch: int) -> Iterator[Any]:
        """Give the batches of the next epoch: these libraries have no others."""
        del epoch
        try:
            batches = next(self.epochs)  # only now do they look for their library
        except ImportError as error:
            raise UsageError(f"{self.name} is not installed", got=str(error)) from error
        for images, ids in batches:
            found = images if isinstance(images, torch.Tensor) else torch.from_numpy(np.array(images))
            pixels = found.to(self.ranks.device, non_blocking=True).float()
            pixels = pixels if pixels.shape[1] == 3 else pixels.permute(0, 3, 1, 2)
            numbers = torch.as_tensor(np.array(ids) if not isinstance(ids, torch.Tensor) else ids).long().flatten()
            yield (pixels - self.mean) / self.std, self.labels[numbers.to(self.labels.device)]

    def state(self) -> None:
        """Say nothing: their order cannot be entered in the middle."""

    def resume(self, state: Mapping[str, Any]) -> int:
        """Begin the epoch anew."""
        del state
        return 0

    def statistics(self) -> None:
        """Tell nothing."""

    def close(self) -> None:
        """End it: its processes go with its iterator."""
        close = getattr(self.epochs, "close", None)
        if close is not None:
            close()


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


def classes_of(found: argparse.Namespace) -> int:
    """Count the classes."""
    if found.num_classes is not None or found.data_loader == "synthetic":
        return found.num_classes or 1000
    dataset = opened(found, stage_of(found, 0), "train")
    if "label" not in dataset.label_names:
        got = dataset.label_names
        raise UsageError("the data has no classes", file=stage_of(found, 0), got=got, expected="a label `label`")
    return len(dataset.classes) if dataset.classes else int(np.max(dataset.labels("label"))) + 1


def stage_of(found: argparse.Namespace, epoch: int) -> str:
    """Say which data an epoch trains on."""
    if found.stages is None:
        return str(found.data)
    ends = list(itertools.accumulate(found.stages))
    return str(found.datasets[next(number for number, end in enumerate(ends) if epoch < end)])


class Stages:
    """The training data of each epoch; that of a stage is opened when it begins, and closed when it is over."""

    def __init__(self, found: argparse.Namespace, ranks: parts.Ranks) -> None:
        self.found, self.ranks = found, ranks
        self.at: str | None = None
        self.feed: parts.Feed | None = None

    def __call__(self, epoch: int) -> parts.Feed:
        """Give the data of an epoch."""
        at = stage_of(self.found, epoch)
        if self.feed is None or at != self.at:
            self.close()
            self.at, self.feed = at, training_data(self.found, at, self.ranks)
        return self.feed

    def close(self) -> None:
        """Close what is open."""
        if self.feed is not None:
            self.feed.close()


def training_data(found: argparse.Namespace, data: str, ranks: parts.Ranks) -> parts.Feed:
    """Give what yields training batches."""
    if found.data_loader == "synthetic":
        shape, count = (found.batch_size, 3, found.image_size, found.image_size), found.num_classes or 1000
        draws = torch.Generator(ranks.device).manual_seed(found.seed)
        images = torch.randn(shape, device=ranks.device, generator=draws).contiguous(memory_format=memory_format(found))
        labels = torch.arange(found.batch_size, device=ranks.device) % count
        steps = max(found.synth_train_samples // found.batch_size // ranks.count, 1)
        return parts.Synthetic(images, labels, min(steps, found.profile_n or steps))
    if found.data_loader != "penstock":
        return other(found, data, ranks)
    loader = Loader(
        opened(found, data, "train"),
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
    if not len(loader):
        got = f"{len(loader.dataset)} samples for {ranks.count} ranks with batches of {found.batch_size}"
        raise UsageError("there is not one whole batch", file=data, got=got, hint="take smaller batches")
    return parts.Loaded(loader, found.profile_n)


def other(found: argparse.Namespace, data: str, ranks: parts.Ranks) -> Other:
    """Begin to load by another library, from the folder of images."""
    from penstock.bench import Case
    from penstock.bench.peers import load

    name = found.data_loader
    if ranks.count > 1 or found.fraction < 1 or found.profile_n:
        got = f"{name} on {ranks.count} ranks, fraction {found.fraction}, profile-n {found.profile_n}"
        raise UsageError("loaders of others load the whole data on one rank here", got=got)
    folder = Path(data) / "train"
    case = Case.of(
        str(folder),
        size=found.image_size,
        batch_size=found.batch_size,
        workers=found.workers or allowed_cores(),
        seed=found.seed,
    )
    labels = torch.tensor([label for _, label in case.files()], device=ranks.device)
    mean, std = (torch.tensor(one, device=ranks.device).view(1, 3, 1, 1) for one in (found.data_mean, found.data_std))
    peer = load(OTHERS[name])
    try:
        peer.prepare(case)
    except ImportError as error:
        raise UsageError(f"{name} is not installed", got=str(error)) from error
    return Other(name, iter(peer.epochs(case)), labels, -(-len(labels) // found.batch_size), ranks, mean, std)


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


def step_of(found: argparse.Namespace, classes: int, ranks: parts.Ranks) -> parts.Step:
    """Put together what a step is made of."""
    model = model_of(found, classes, ranks)
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    scaler = None
    if found.amp == "fp16" and ranks.device.type == "cuda":
        scaler = torch.amp.GradScaler(init_scale=2.0**16 if found.dynamic_loss_scale else found.static_loss_scale)
    return parts.Step(
        model,
        optimizer_of(found, bare),
        parts.Schedule(found.lr_policy, found.lr, found.epochs, found.warmup, found.end_lr),
        ranks,
        classes,
        precision=found.amp or "float32",
        scaler=scaler,
        static_scale=None if found.dynamic_loss_scale else found.static_loss_scale,
        accumulate=max(round(found.optimizer_batch_size / (found.batch_size * ranks.count)), 1),
        label_smoothing=found.label_smoothing,
        mixup=found.mixup,
        average=None if found.ema is None else parts.WeightAverage(bare, found.ema),
        seed=found.seed,
    )


def train(found: argparse.Namespace, ranks: parts.Ranks, journal: parts.Journal, stopping: parts.Stopping) -> None:
    """Run all epochs that are left, or validate."""
    classes, folder = classes_of(found), Path(found.workspace) / found.experiment_name
    keeping = parts.Keeping(
        folder,
        found.checkpoint_filename,
        writes=not found.no_checkpoints,
        every_epoch=found.backup_checkpoints,
        steps=found.checkpoint_steps,
    )
    about = {"arch": found.arch, "classes": classes}
    run = parts.Run(
        step_of(found, classes, ranks), journal, stopping, keeping, about=about, every=max(found.print_freq, 1)
    )
    if found.resume:
        run.restore(found.resume)
    has_validation = not found.skip_validation and found.data_loader != "synthetic"
    validation = validation_data(found, stage_of(found, found.epochs - 1), ranks) if has_validation else None
    journal.note("options", **vars(found), ranks=ranks.count, classes=classes)
    journal.say(f"=> {found.arch}, {classes} classes, batches of {found.batch_size} on {ranks.count} x {ranks.device}")
    if found.skip_training:
        run.validate(validation)
        return
    until = min(found.epochs, run.epoch + found.run_epochs) if found.run_epochs else found.epochs
    with closing(Stages(found, ranks)) as stages:
        reason = run.train(stages, validation, until=until)
    journal.say(f"=> {reason}")
    journal.note("end", reason=reason, epoch=run.epoch, done=run.done, best=run.best)
    if found.report and ranks.is_first:
        write_page(folder / "report.html", parts.read_journal(folder / found.report_file))


def main(arguments: list[str] | None = None) -> int:
    """Train."""
    found = options(arguments)
    folder = str(Path(found.workspace) / found.experiment_name)
    try:
        with (
            parts.joined(found.device) as ranks,
            parts.Journal(folder, ranks, name=found.report_file, tensorboard=found.tensorboard) as journal,
            parts.Stopping(found.time_budget) as stopping,
        ):
            train(found, ranks, journal, stopping)
    except (PenstockError, FloatingPointError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    parts.leave(main())
