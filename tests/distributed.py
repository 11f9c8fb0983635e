"""One of several ranks that torchrun has started on this machine. Run by torch/test_ranks.py.

    torchrun --nproc-per-node N -m tests.distributed DATASET FOLDER

Each rank does with its loaders what a training script does, and writes down what it found, as FOLDER/RANK.json. No
loader is told its rank unless it is said so here. Ranks exchange what they were given with collective operations, batch
by batch: one that had a batch more or less, or a larger one, would end all of them with an error.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn import functional

from penstock.loader import verify_resume
from penstock.order import WindowShuffle
from penstock.pipeline.cores import allowed_cores
from penstock.torch import Loader
from penstock.transforms import RandomResizedCrop, ToDtype

GLOBAL_BATCH = 8
PATIENCE = timedelta(seconds=60)
WINDOWS = WindowShuffle(lanes=4, window_bytes=40_000, block_bytes=8_000)


def loader_of(dataset: str, **options: Any) -> Loader:
    """A loader as a script would make it for any number of ranks."""
    own = GLOBAL_BATCH // int(os.environ.get("WORLD_SIZE", "1"))
    transforms = [RandomResizedCrop(16), ToDtype(torch.float32, scale=True)]
    return Loader(dataset, **{"batch_size": own, "transforms": transforms, "seed": 3, **options})


def ranks_of(loader: Loader) -> list[int]:
    """Which rank a loader takes itself for, and of how many."""
    delivered = loader.state_dict()["delivered"]
    return [delivered["rank"], delivered["world_size"]]


def gathered(values: torch.Tensor) -> list[list[int]]:
    """What all ranks have."""
    found = [torch.empty_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(found, values)
    return [one.tolist() for one in found]


def epoch_of(loader: Loader) -> list[list[list[int]]]:
    """An epoch, batch by batch: the samples of each rank, without padding."""
    batches = []
    for batch in loader:
        paddings = gathered(torch.tensor([batch.padding]))
        ids = gathered(torch.from_numpy(batch.ids))
        batches.append([own[: len(own) - padding] for own, (padding,) in zip(ids, paddings, strict=True)])
    return batches


def totals_of(loader: Loader, model: torch.nn.Module | None = None) -> list[float]:
    """A validation, summed over all ranks: the samples, their numbers, their labels, and the loss of a model."""
    sums = torch.zeros(4, dtype=torch.float64)
    for batch in loader:
        count = len(batch.ids) - batch.padding
        images, labels = batch.images[:count], batch.labels[:count]
        with torch.no_grad():
            loss = 0.0 if model is None else functional.cross_entropy(model(images), labels, reduction="sum").item()
        sums += torch.tensor([count, batch.ids[:count].sum(), labels.sum(), loss])
    dist.all_reduce(sums)
    return sums.tolist()


def trained(dataset: str) -> dict[str, Any]:
    """Train a small model for some epochs; its weights, and the loss over all samples before and after."""
    torch.manual_seed(dist.get_rank())  # the model is that of rank 0: DistributedDataParallel sees to it
    layers = torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(12, 4)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with loader_of(dataset, shuffle=WINDOWS, drop_last=True) as loader, loader_of(dataset, shuffle=False) as held_out:
        before = totals_of(held_out, model.module)
        for batches in loader.epochs(8):
            for images, labels in batches:
                optimizer.zero_grad()
                functional.cross_entropy(model(images), labels).backward()
                optimizer.step()
        held_out.set_epoch(0)
        after = totals_of(held_out, model.module)
    weights = torch.cat([values.detach().flatten() for values in model.parameters()])
    return {"weights": weights.tolist(), "losses": [before[3], after[3]]}


def main(dataset: str, folder: str) -> None:
    """Do all of it."""
    found: dict[str, Any] = {"cores": allowed_cores()}
    with loader_of(dataset) as loader:
        found["ranks by environment"] = ranks_of(loader)
        found["threads"] = loader._loader._decoder.threads
    with loader_of(dataset, rank=0, world_size=1) as loader:
        found["ranks by arguments"], found["samples by arguments"] = ranks_of(loader), sum(len(b.ids) for b in loader)
    dist.init_process_group("gloo", timeout=PATIENCE)
    with loader_of(dataset, rank=1, world_size=2) as loader:
        found["ranks by arguments in a group"] = ranks_of(loader)
    for name, shuffle in (("window", WINDOWS), ("full", "full"), ("storage", False)):
        with loader_of(dataset, shuffle=shuffle) as loader:
            found[name] = [epoch_of(loader), epoch_of(loader)]
            for _ in islice(loader, 3):
                pass
            states: list[Any] = [None] * dist.get_world_size()
            dist.all_gather_object(states, loader.state_dict())
            verify_resume(loader, states)
    for name, options in (("short", {}), ("padded", {"pad_last": True})):
        with loader_of(dataset, shuffle=False, batch_size=5, **options) as loader:
            found[name] = totals_of(loader)[:3]
    found["training"] = trained(dataset)
    rank = os.environ.pop("RANK")
    with loader_of(dataset, batch_size=1) as loader:
        found["ranks by group"] = ranks_of(loader)
    dist.destroy_process_group()
    Path(folder, f"{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
