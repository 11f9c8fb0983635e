"""A stage: a function that turns one item into the next, how many threads run it, how many results may wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Stage"]


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a pipeline."""

    name: str
    run: Callable[[Any], Any]
    threads: int = 1
    depth: int = 2  # finished items that may wait, those still being worked on included once they are next in line

    def __post_init__(self) -> None:
        if self.threads < 1 or self.depth < 1:
            raise UsageError(f"stage {self.name}: threads and depth are at least 1", got=(self.threads, self.depth))
