"""Which of several processes that train together this one is, as `torchrun` tells it in the environment."""

from __future__ import annotations

import os

from penstock.errors import UsageError
from penstock.pipeline.options import whole_number

__all__ = ["local_ranks", "rank_of"]


def rank_of(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Give rank and world size: those given, or those of the environment, or one process alone."""
    if (rank is None) != (world_size is None):
        got = f"rank={rank}, world_size={world_size}"
        raise UsageError("rank and world_size go together", got=got, hint="give both, or none")
    if rank is not None and world_size is not None:
        return whole_number(rank, what="rank", least=0), whole_number(world_size, what="world_size", least=1)
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        return _number("RANK", 0), _number("WORLD_SIZE", 1)
    return 0, 1


def local_ranks() -> int:
    """Count the processes that train together on this machine: they share its cores."""
    return _number("LOCAL_WORLD_SIZE", 1) if "LOCAL_WORLD_SIZE" in os.environ else 1


def _number(name: str, least: int) -> int:
    text = os.environ[name]
    return whole_number(int(text) if text.isdecimal() else text, what=f"environment variable {name}", least=least)
