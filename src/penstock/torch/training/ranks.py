"""Ranks: the processes of one run, as `torchrun` starts them; a run without it is one rank."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Ranks", "bare", "joined", "leave"]


@dataclass(frozen=True, slots=True)
class Ranks:
    """This rank among the others, and its device."""

    rank: int
    count: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes files and talks."""
        return self.rank == 0

    def summed(self, values: list[float]) -> list[float]:
        """Add values up over all ranks."""
        if self.count == 1:
            return values
        found = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(found)
        return [float(value) for value in found.tolist()]

    def most(self, value: float) -> float:
        """Give the largest value of all ranks."""
        if self.count == 1:
            return value
        found = torch.tensor([value], dtype=torch.float64, device=self.device)
        distributed.all_reduce(found, distributed.ReduceOp.MAX)
        return float(found.item())

    def gathered(self, value: object) -> list[object]:
        """Give the values of all ranks, in their order."""
        if self.count == 1:
            return [value]
        found: list[object] = [None] * self.count
        distributed.all_gather_object(found, value)
        return found

    def same_buffers(self, model: nn.Module) -> None:
        """Give all ranks the first one's buffers: statistics of normalisation, which each rank gathers for itself."""
        if self.count > 1:
            for buffer in bare(model).buffers():
                distributed.broadcast(buffer, 0)


def bare(model: nn.Module) -> nn.Module:
    """Give a model without what distributes it."""
    found = model.module if isinstance(model, DistributedDataParallel) else model
    assert isinstance(found, nn.Module)
    return found


@contextmanager
def joined(device: str | None = None, *, minutes: float = 10.0) -> Iterator[Ranks]:
    """Join the ranks that `torchrun` started, over nccl on GPUs and gloo elsewhere; leave them at the end.

    `device` is "cpu", "cuda" or "cuda:1"; default: a GPU where there is one, on several ranks each its own.
    """
    count, rank, local = (int(os.environ.get(name, "0")) for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"))
    count = max(count, 1)
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if chosen == "cuda":
        chosen = f"cuda:{local}"
    found = torch.device(chosen)
    if found.type == "cuda":
        if not torch.cuda.is_available() or (found.index or 0) >= torch.cuda.device_count():
            got = f"{chosen}, and {torch.cuda.device_count()} GPUs"
            raise UsageError("there is no such device", got=got, hint="pass --device cpu, or fewer processes per node")
        torch.cuda.set_device(found)
    if count == 1:
        yield Ranks(0, 1, found)
        return
    backend = "nccl" if found.type == "cuda" else "gloo"
    distributed.init_process_group(backend, timeout=timedelta(minutes=minutes))
    try:
        yield Ranks(rank, count, found)
        distributed.barrier()  # none leaves while others are still talking
    finally:
        distributed.destroy_process_group()


def leave(code: int) -> NoReturn:
    """End this process when all is done; one of several ranks at once, without the interpreter tidying up.

    In that, gloo's threads (torch 2.13) now and then abort a process whose work is done, and torchrun calls the run
    failed.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
