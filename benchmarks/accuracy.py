"""Accuracy is not lost: the same model, trained on what a plain loader gives and on what penstock gives.

    apt-get download dataset-fashion-mnist && dpkg -x dataset-fashion-mnist_*.deb fashion
    python benchmarks/accuracy.py fashion/usr/share/datasets/fashion-mnist --out benchmarks/results/accuracy.json

Real labelled images, 60,000 to train on and 10,000 to validate with, as JPEGs of quality 95 in class folders. A small
residual network is trained several times for each of

    plain      Pillow under a DataLoader with worker processes, as in many a training script
    full       penstock, packed as tiles, uniform shuffle
    sorted     penstock, packed in the order of the classes, uniform shuffle
    window     the same, in window order: blocks of 36 images, 64 of them in a window, as the defaults are for ImageNet

with the same seeds: run k of each begins with the same weights. Crops, flips, learning rates and the number of steps
are the same, and so is the validation, by Pillow for all. Draws are not: each loader has its own. All runs are in one
process, in turn; what comes out is every run's accuracy, means, spreads, and differences with their intervals (95 %,
Student's t over pairs of one seed).
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import statistics
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image
from torch import nn

import penstock
from penstock.bench.machine import describe, versions
from penstock.order import WindowShuffle
from penstock.order.quality import Classes, Excerpt
from penstock.pipeline.cores import allowed_cores
from penstock.torch import Loader
from penstock.torch.training import Progress, Ranks, Schedule, Step, Stopping, evaluate, train_epoch
from penstock.torch.training.models import Residual
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIDE, CLASSES, SCALE = 28, 10, (0.5, 1.0)
PARTS = {"train": "train", "val": "t10k"}
BLOCK, BLOCKS = 36, 64  # images of 110 KB in the default block; blocks in the default window
SECONDS = 330.0
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def prepared(source: Path, work: Path, samples: int | None) -> None:
    """Make class folders of JPEGs out of the dataset's files, and pack them shuffled and sorted; once."""
    for part, name in PARTS.items():
        folder = work / part
        if folder.is_dir():
            continue
        with gzip.open(source / f"{name}-images-idx3-ubyte.gz") as file:
            images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, SIDE, SIDE)
        with gzip.open(source / f"{name}-labels-idx1-ubyte.gz") as file:
            labels = np.frombuffer(file.read(), np.uint8, offset=8)
        unfinished = work / f"{part}.part"
        for number in range(CLASSES):
            (unfinished / str(number)).mkdir(parents=True, exist_ok=True)
        for number, (pixels, label) in enumerate(zip(images[:samples], labels[:samples], strict=True)):
            path = unfinished / str(label) / f"{number:05d}.jpg"
            Image.fromarray(pixels).convert("RGB").save(path, quality=95)
        unfinished.rename(folder)
    for name, seed in (("shuffled", 0), ("sorted", None)):
        penstock.pack(work / "train", work / f"{name}.pen", seed=seed)


class Photos(torch.utils.data.Dataset[Any]):
    """Decodes one image at a time, and crops, resizes and flips it where it is to be trained on."""

    def __init__(self, folder: Path, *, trains: bool) -> None:
        self.samples = [(str(path), int(path.parent.name)) for path in sorted(folder.rglob("*.jpg"))]
        self.trains = trains

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        path, label = self.samples[number]
        with Image.open(path) as file:
            image = file.convert("RGB")
        if self.trains:
            image = image.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=crop_box(*image.size))
            if random.random() < 0.5:  # noqa: S311  augmentation, not secrecy
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.from_numpy(np.array(image).transpose(2, 0, 1)), label


def crop_box(width: int, height: int) -> tuple[int, int, int, int]:
    """Draw a box as torchvision's RandomResizedCrop does."""
    for _ in range(10):
        area = width * height * random.uniform(*SCALE)  # noqa: S311  augmentation, not secrecy
        aspect = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))  # noqa: S311  augmentation, not secrecy
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)  # noqa: S311  augmentation, not secrecy
            return x, y, x + w, y + h
    return 0, 0, width, height


def plain(work: Path, *, part: str, batch: int, workers: int, seed: int) -> Any:
    """Make a DataLoader."""
    trains = part == "train"
    random.seed(seed)
    torch.manual_seed(seed)
    return torch.utils.data.DataLoader(
        Photos(work / part, trains=trains),
        batch,
        shuffle=trains,
        drop_last=trains,
        num_workers=workers,
        persistent_workers=workers > 0,
    )


def window(work: Path) -> WindowShuffle:
    """Choose blocks and windows in bytes, as the defaults are for images of ImageNet's size."""
    dataset = penstock.open(work / "sorted.pen")
    block = BLOCK * int(dataset.column("image").length.mean())
    return WindowShuffle(lanes=16, window_bytes=BLOCKS * block, block_bytes=block)


def ours(name: str, work: Path, *, batch: int, workers: int, seed: int) -> Loader:
    """Make a loader of penstock."""
    return Loader(
        work / ("shuffled.pen" if name == "full" else "sorted.pen"),
        batch_size=batch,
        transforms=[RandomResizedCrop(SIDE, scale=SCALE), RandomHorizontalFlip()],
        shuffle=window(work) if name == "window" else "full",
        seed=seed,
        drop_last=True,
        threads=workers,
    )


def network() -> nn.Module:
    """Make a small residual network for small images."""
    widths = (32, 64, 128)
    layers: list[nn.Module] = [nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    for before, after in zip((32, *widths), widths, strict=False):
        layers.append(Residual(before, after, after, 1 if after == 32 else 2, is_deep=False))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, CLASSES))


def values(batches: Any, device: torch.device) -> Iterator[Any]:
    """Bring batches to the device, with values around 0."""
    for images, labels in batches:
        yield (images.to(device).float() - 73) / 90, labels.to(device)


def trained(
    epochs: Callable[[int], Any], held: list[Any], *, steps: int, count: int, seed: int, device: torch.device
) -> dict[str, float]:
    """Train a model and validate it."""
    torch.manual_seed(seed)
    model = network().to(device)
    ranks = Ranks(0, 1, device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9, weight_decay=5e-4, nesterov=True)
    step = Step(model, optimizer, Schedule("cosine", 0.1, count, warmup=min(1.0, count / 4)), ranks, CLASSES, seed=seed)
    begin, waited = time.perf_counter(), 0.0
    with Stopping() as stopping:
        for epoch in range(count):
            progress = Progress("", steps)
            if not train_epoch(
                step, values(epochs(epoch), device), progress, epoch=epoch, stopping=stopping, every=steps
            ):
                raise SystemExit(f"stopped by {stopping.reason}")
            waited += progress.data_time.total
    seconds = time.perf_counter() - begin
    found = evaluate(model, values(held, device), Progress("", len(held)), ranks=ranks)
    return {
        "accuracy": found["Prec@1"],
        "loss": found["Loss"],
        "validated": found["samples"],
        "seconds": seconds,
        "waited_seconds": waited,
    }


def run_of(name: str, work: Path, args: argparse.Namespace, seed: int, held: list[Any]) -> dict[str, float]:
    """Train on what one loader gives."""
    given = {"batch": args.batch_size, "workers": args.workers, "seed": seed}
    device = torch.device(args.device)
    fixed = {"count": args.epochs, "seed": seed, "device": device}
    if name == "plain":
        loader = plain(work, part="train", **given)
        return trained(lambda _: loader, held, steps=len(loader), **fixed)
    with ours(name, work, **given) as loader:

        def epoch_of(epoch: int) -> Any:
            loader.set_epoch(epoch)
            return loader

        return trained(epoch_of, held, steps=len(loader), **fixed)


def difference(one: list[float], other: list[float]) -> dict[str, Any]:
    """Give the mean difference of pairs, with its interval where there are enough."""
    pairs = [a - b for a, b in zip(one, other, strict=True)]
    found: dict[str, Any] = {"mean": statistics.mean(pairs), "pairs": pairs}
    if len(pairs) - 1 in STUDENT:
        half = STUDENT[len(pairs) - 1] * statistics.stdev(pairs) / math.sqrt(len(pairs))
        found["interval"] = [found["mean"] - half, found["mean"] + half]
    return found


def order_quality(work: Path, batch: int) -> dict[str, Any]:
    """Say what each order of the sorted data is worth."""
    found = {}
    labels = np.asarray(penstock.open(work / "sorted.pen").labels("label"))
    for name in ("sorted", "window"):
        with ours(name, work, batch=batch, workers=1, seed=0) as loader:
            excerpt = Excerpt.of(loader.course.order(0), batch_size=batch)
            found[name] = asdict(excerpt.quality(block=BLOCK, classes=Classes.labelled(labels)))
    return found


def main() -> None:
    """Make the data, train, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the folder of the dataset's four files")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="where JPEGs and packed sets are kept [beside --out]")
    parser.add_argument("--kinds", default="plain,full,sorted,window")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--samples", type=int, help="of each part [all]")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--workers", type=int, default=allowed_cores())
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="begin no further round of runs after so long")
    args = parser.parse_args()
    begin = time.perf_counter()
    work: Path = args.work or args.out.with_suffix("")
    work.mkdir(parents=True, exist_ok=True)
    prepared(args.source, work, args.samples)
    held = list(plain(work, part="val", batch=500, workers=args.workers, seed=0))
    kinds = args.kinds.split(",")
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in kinds}
    sys.stderr.write(f"data is ready after {time.perf_counter() - begin:.0f} s\n")
    longest = 0.0
    for seed in range(args.seeds):
        start = time.perf_counter()
        if start - begin + longest > args.seconds:
            sys.stderr.write(f"{args.seconds:.0f} s are over: {seed} seeds\n")
            break
        for at in range(len(kinds)):  # each seed begins with another one
            name = kinds[(at + seed) % len(kinds)]
            runs[name].append(found := run_of(name, work, args, seed, held))
            sys.stderr.write(f"seed {seed}, {name}: {found['accuracy']:.2f} % in {found['seconds']:.1f} s\n")
        longest = max(longest, time.perf_counter() - start)
    accuracies = {name: [one["accuracy"] for one in found] for name, found in runs.items()}
    pairs = [(one, other) for one, other in (("full", "plain"), ("window", "sorted")) if {one, other} <= set(kinds)]
    result: dict[str, Any] = {
        "format": 1,
        "kind": "accuracy",
        "machine": describe() | ({"gpu": torch.cuda.get_device_name()} if args.device.startswith("cuda") else {}),
        "versions": versions(("penstock", "torch", "pillow", "numpy")),
        "settings": {name: getattr(args, name) for name in ("seeds", "epochs", "samples", "batch_size", "workers")},
        "samples": {part: sum(1 for _ in (work / part).rglob("*.jpg")) for part in PARTS},
        "runs": runs,
        "accuracy": {
            name: {
                "mean": statistics.mean(found),
                "deviation": statistics.stdev(found) if len(found) > 1 else None,
                "lowest": min(found),
                "highest": max(found),
            }
            for name, found in accuracies.items()
        },
        "differences": {f"{one} - {other}": difference(accuracies[one], accuracies[other]) for one, other in pairs},
        "orders": order_quality(work, args.batch_size),
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    for name, found in result["accuracy"].items():
        deviation = found["deviation"]
        spread = "" if deviation is None else f" ± {deviation:.2f}"
        print(f"{name:8} {found['mean']:.2f} %{spread}, {found['lowest']:.2f} to {found['highest']:.2f}")
    for name, found in result["differences"].items():
        print(f"{name}: {found['mean']:+.2f} points, interval {found.get('interval')}")


if __name__ == "__main__":
    main()
