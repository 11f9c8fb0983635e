"""How the items of a map-style dataset are fetched: by threads, or by coroutines on one event loop.

A dataset that has `__getitem_async__` is asked by it, and its `__getitem__` is not used. If it is an asynchronous
context manager as well, it is entered on the loop before the first item and left after the last: there it may open and
close what belongs to a loop, a client with its connections. It is not entered for an iteration while it is still being
left after the one before.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, final

from penstock.pipeline.loop import Loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.pipeline.pipeline import Closable
    from penstock.torch.asking import Step

__all__ = ["ByLoop", "ByThreads", "Fetching", "is_asynchronous"]


class Fetching(Protocol):
    """A way to fetch items."""

    threads: int
    waited_for: Sequence[Closable]

    def begin(self, step: Step) -> None:
        """Begin with an item, where that needs no thread; called by the consumer, in order."""

    def fetch(self, step: Step) -> Any:
        """Give the item; called by `threads` threads at a time."""

    def leave(self) -> None:
        """Wait until the dataset is left, if this has been closed."""


@final
class ByThreads:
    """As many threads as items may be under way; each calls `dataset[index]`."""

    def __init__(self, dataset: Any, *, concurrency: int) -> None:
        self._dataset = dataset
        self.threads = concurrency
        self.waited_for: Sequence[Closable] = ()

    def begin(self, step: Step) -> None:
        """Do nothing: the first thread that is free begins."""

    def fetch(self, step: Step) -> Any:
        """Fetch the item here."""
        with step:
            return self._dataset[step.index]

    def leave(self) -> None:
        """Do nothing: there is nothing to leave."""


@final
class ByLoop:
    """As many coroutines as items may be under way; one thread waits for them in their order."""

    def __init__(self, dataset: Any, *, concurrency: int, deadline_seconds: float) -> None:
        self._dataset = dataset
        context = dataset if hasattr(dataset, "__aenter__") else nullcontext()
        self._loop = Loop(context, tasks=concurrency, deadline_seconds=deadline_seconds)
        self.threads = 1
        self.waited_for: Sequence[Closable] = (self._loop,)

    def begin(self, step: Step) -> None:
        """Hand it in to the loop."""
        step.pending = self._loop.begin(partial(self._get, step))

    def fetch(self, step: Step) -> Any:
        """Wait for the item."""
        assert step.pending is not None
        return step.pending.result()

    def leave(self) -> None:
        """Wait for the end of a loop that was closed."""
        self._loop.leave()

    async def _get(self, step: Step) -> Any:
        with step:
            return await self._dataset.__getitem_async__(step.index)


def is_asynchronous(dataset: Any) -> bool:
    """Tell whether a dataset has an asynchronous twin of `__getitem__`."""
    return hasattr(dataset, "__getitem_async__")
