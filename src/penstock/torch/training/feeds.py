"""Where the batches of a run come from: a loader of penstock, or one batch again and again.

A run wants of a feed the batches of an epoch, their number, and a state from which it goes on in the middle of an
epoch. What others give can be a feed, too: any object with these methods.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import torch

    from penstock.loader import LoaderStatistics
    from penstock.torch.loader import Loader

__all__ = ["Feed", "Loaded", "Synthetic"]


class Feed(Protocol):
    """What a run asks of its training data."""

    @property
    def steps(self) -> int:
        """Count the batches of an epoch on this rank: equally many on all."""
        ...

    def batches(self, epoch: int) -> Iterator[Any]:
        """Give the batches of an epoch, images and labels; after `resume`, those that are left of it."""
        ...

    def state(self) -> dict[str, Any] | None:
        """Say where the feed is, or None where that cannot be said: then a run begins its epoch anew."""
        ...

    def resume(self, state: Mapping[str, Any]) -> int:
        """Go on from a state; gives the number of batches of its epoch that went before."""
        ...

    def statistics(self) -> LoaderStatistics | None:
        """Tell what the latest epoch has done."""
        ...

    def close(self) -> None:
        """End its threads."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Loaded:
    """Batches of a loader; with a limit, the first so many of each epoch; with `change`, made into others."""

    loader: Loader
    limit: int | None = None
    change: Callable[[Any], Any] | None = None

    @property
    def steps(self) -> int:
        """Count the batches of an epoch."""
        whole = len(self.loader)
        return whole if self.limit is None else min(whole, self.limit)

    def batches(self, epoch: int) -> Iterator[Any]:
        """Give the batches of an epoch, or what is left of it."""
        self.loader.set_epoch(epoch)
        batches = iter(self.loader)
        if self.limit is not None:
            batches = itertools.islice(batches, self.steps - self._done(epoch))
        return batches if self.change is None else map(self.change, batches)

    def state(self) -> dict[str, Any]:
        """Say where the loader is."""
        return self.loader.state_dict()

    def resume(self, state: Mapping[str, Any]) -> int:
        """Go on where a loader was: the same order, whatever the number of ranks."""
        self.loader.load_state_dict(state)
        return self._done(int(state["epoch"]))

    def statistics(self) -> LoaderStatistics:
        """Tell what the loader has done."""
        return self.loader.statistics()

    def close(self) -> None:
        """End the loader."""
        self.loader.close()

    def _done(self, epoch: int) -> int:
        return len(self.loader) - self.loader.course.batches_left(epoch)


@final
@dataclass(frozen=True, slots=True)
class Synthetic:
    """One batch again and again, on the device: what the model can do if nothing has to be loaded."""

    images: torch.Tensor
    labels: torch.Tensor
    steps: int

    def batches(self, epoch: int) -> Iterator[Any]:
        """Give the same batch for each step."""
        del epoch
        return itertools.repeat((self.images, self.labels), self.steps)

    def state(self) -> None:
        """Say nothing: there is no order."""

    def resume(self, state: Mapping[str, Any]) -> int:
        """Begin the epoch anew."""
        del state
        return 0

    def statistics(self) -> None:
        """Tell nothing: nothing is loaded."""

    def close(self) -> None:
        """Do nothing: there is nothing to end."""
