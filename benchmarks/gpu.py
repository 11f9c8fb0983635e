"""On a machine with a GPU: batches arrive there as they are, and feed a model that trains on it.

    python benchmarks/gpu.py PHOTOS --out benchmarks/results/gpu.json

First what must hold: a batch on the GPU is the batch on the CPU, bit by bit, also while many batches are held on to, in
window order, as channels_last, normalised. Then how fast: images per second to the GPU as uint8, penstock (packed) and
torchvision with as many workers as there are cores, a run of each in turn; and a training step of ResNet-50 and
ResNet-18 (bf16, channels_last, batches of 256) with one batch that stays on the GPU, with penstock, and with
torchvision: images per second, and the share of the time that the trainer waited for a batch.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import penstock
from penstock.bench.machine import describe, versions
from penstock.order import WindowShuffle
from penstock.torch import Loader
from penstock.torch.training import Progress, Ranks, Schedule, Step, Stopping, image_model, train_epoch
from penstock.transforms import Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype

if TYPE_CHECKING:
    from collections.abc import Iterator

GEOMETRY = [RandomResizedCrop(224), RandomHorizontalFlip()]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
VALUES = [ToDtype("float32", scale=True), Normalize(MEAN, STD)]
BATCH = 256
SETTINGS: dict[str, dict[str, Any]] = {
    "uint8": {},
    "normalised": {"transforms": [*GEOMETRY, *VALUES]},
    "channels_last": {"memory_format": torch.channels_last},
    "window": {"shuffle": WindowShuffle(lanes=4, window_bytes=4_000_000, block_bytes=500_000)},
}


def loader(path: str, **options: Any) -> Loader:
    """Make a loader of the same samples in the same order, wherever they go."""
    return Loader(path, **{"batch_size": BATCH, "transforms": GEOMETRY, "seed": 7, "drop_last": True, **options})


def same(path: str) -> dict[str, float]:
    """See that batches on the GPU are those on the CPU; the largest differences, which are 0 for uint8."""
    found = {}
    for name, options in SETTINGS.items():
        on_cpu = [images.clone() for images, _ in loader(path, **options)]
        held = [batch[0] for batch in loader(path, device="cuda", **options)]  # all of them at once
        assert len(on_cpu) == len(held) > 0
        assert all(one.is_cuda and one.dtype == other.dtype for one, other in zip(held, on_cpu, strict=True))
        gaps = [float((one.cpu().float() - other.float()).abs().max()) for one, other in zip(held, on_cpu, strict=True)]
        found[name] = max(gaps)
        if found[name] > (1e-5 if name == "normalised" else 0):
            raise SystemExit(f"{name}: a batch on the GPU differs from the one on the CPU by {found[name]}")
    return found


def torchvision_batches(folder: str, workers: int) -> Iterator[Iterator[Any]]:
    """Give epochs of uint8 batches as torchvision makes them."""
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import v2

    chosen = v2.Compose([v2.PILToTensor(), v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()])
    data: DataLoader[Any] = DataLoader(
        ImageFolder(folder, chosen),
        BATCH,
        shuffle=True,
        num_workers=workers,
        persistent_workers=True,
        pin_memory=True,
        drop_last=True,
    )
    while True:
        yield ((images.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)) for images, labels in data)


def rate_of(epoch: Iterator[Any]) -> float:
    """Images per second of an epoch to the GPU."""
    torch.cuda.synchronize()
    begin, count = time.perf_counter(), 0
    for images, _ in epoch:
        count += len(images)
    torch.cuda.synchronize()
    return count / (time.perf_counter() - begin)


def trained(arch: str, epochs: Iterator[Any], steps: int, classes: int) -> dict[str, float]:
    """Train an epoch to warm up, and one that counts."""
    torch.manual_seed(0)
    model = image_model(arch, classes).to("cuda")
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # unknown to its stubs
    device = torch.device("cuda")
    step = Step(
        model,
        torch.optim.SGD(model.parameters(), 0.01, 0.9),
        Schedule("cosine", 0.01, 10),
        Ranks(0, 1, device),
        classes,
        precision="bf16",
    )
    mean, std = (torch.tensor(one, device=device).view(1, 3, 1, 1) * 255 for one in (MEAN, STD))

    def prepared(epoch: Iterator[Any]) -> Iterator[Any]:
        for images, labels in epoch:
            yield ((images.float() - mean) / std).contiguous(memory_format=torch.channels_last), labels

    with Stopping() as stopping:
        for number in range(2):
            progress = Progress(f"{arch} [{number}]", steps)
            train_epoch(step, prepared(next(epochs)), progress, epoch=number, stopping=stopping, every=10**9)
    found = progress.summary()
    names = ("samples_per_second", "stall_share", "longest_stall_seconds")
    return {**{name: found[name] for name in names}, "seconds": found["seconds_taken"]}


def main() -> None:
    """Check, measure, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    packed = args.photos.rstrip("/") + ".pen"
    if not Path(packed).exists():
        penstock.pack(args.photos, packed)
    dataset = penstock.open(packed)
    cores = len(os.sched_getaffinity(0))
    classes, steps = len(dataset.classes or ()), len(dataset) // BATCH
    result: dict[str, Any] = {
        "format": 1,
        "kind": "gpu",
        "machine": {**describe(), "gpu": torch.cuda.get_device_name()},
        "versions": versions(("penstock", "torch", "torchvision")),
        "samples": len(dataset),
        "differences": same(packed),
        "to_gpu": {"penstock": [], "torchvision": []},
        "training": {},
    }
    sys.stderr.write(f"the same: {result['differences']}\n")
    ours, theirs = loader(packed, device="cuda"), torchvision_batches(args.photos, cores)
    rate_of(iter(ours)), rate_of(next(theirs))
    for _ in range(args.rounds):
        result["to_gpu"]["penstock"].append(rate_of(iter(ours)))
        result["to_gpu"]["torchvision"].append(rate_of(next(theirs)))
    sys.stderr.write(f"to the GPU: {result['to_gpu']}\n")
    batch = next(iter(ours))
    for arch in ("resnet50", "resnet18"):
        kinds = {
            "one batch": iter(lambda: iter([tuple(batch)] * steps), None),
            "penstock": iter(lambda: iter(ours), None),
            "torchvision": theirs,
        }
        for name, epochs in kinds.items():
            found = trained(arch, epochs, steps, classes)
            result["training"][f"{arch}, {name}"] = found
            sys.stderr.write(f"{arch}, {name}: {found}\n")
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
