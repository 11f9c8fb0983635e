"""`ConcurrentLoader`: any map-style torch dataset, many of its items under way at a time.

It is for items that are waited for: over a network, from a slow medium, from another process. A `DataLoader` waits for
one item after the other in each of its workers; here `concurrency` of them are under way all the time, within a batch
and across batches.

The order is not computed here. A stock `DataLoader` over the dataset's indices gives them batch by batch, in the
consumer's thread, so that every sampler, seed and option has the meaning that it has there.

    stock DataLoader ────► ask ────────► fetch ─────────────► collate ────► you
    indices, by batch      your thread   threads, or a loop   one thread

Bounds: outstanding are fewer than twice `concurrency` items and one more batch, or two batches where that is more
(asking.py). Errors come in their place: batches before them first, and of several in a batch the first. They are the
dataset's own, with a note that names index and batch. The ends are those of any pipeline (pipeline.py).
"""

from __future__ import annotations

import time
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol, final

from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate, default_convert
from torch.utils.data._utils.pin_memory import pin_memory as page_locked

from penstock.errors import StalledError, UsageError
from penstock.pipeline import Pipeline, Stage
from penstock.pipeline.options import time_limit, whole_number
from penstock.torch.asking import UNBOUNDED, Asking, Step
from penstock.torch.fetching import ByLoop, ByThreads, Fetching, is_asynchronous
from penstock.torch.pinning import check_pinning

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    import torch

__all__ = ["ConcurrentLoader"]


class _MapStyle(Protocol):
    def __getitem__(self, index: Any, /) -> Any: ...


@final
class ConcurrentLoader:
    """Batches of any map-style dataset: `for batch in loader`, with `concurrency` items under way at a time.

    The options up to `pin_memory` are those of `torch.utils.data.DataLoader`, and the batches are those that it gives.
    Items are fetched by threads, which call `dataset[index]`; or, where the dataset has
    `async def __getitem_async__(self, index)`, by coroutines on one event loop. `deadline_seconds` is how long an item,
    or `collate_fn`, may keep the consumer waiting.

    Threads and loop belong to an iteration: they start when its first batch is asked for, and end with it.
    """

    def __init__(
        self,
        dataset: _MapStyle,
        *,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        drop_last: bool = False,
        collate_fn: Callable[[Any], Any] | None = None,
        generator: torch.Generator | None = None,
        pin_memory: bool = False,
        concurrency: int = 64,
        deadline_seconds: float = 600.0,
    ) -> None:
        if isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__getitem__") or is_asynchronous(dataset)):
            raise UsageError(
                "items are fetched by their indices",
                got=f"a dataset of type {type(dataset).__name__}, which gives them in an order of its own",
                expected="a map-style dataset, with __getitem__",
                hint="use torch.utils.data.DataLoader for it",
            )
        if pin_memory:
            check_pinning()
        self.dataset = dataset
        self._concurrency = whole_number(concurrency, what="concurrency", least=1)
        self._deadline_seconds = time_limit(deadline_seconds, what="deadline_seconds")
        self._fetching: Fetching | None = None  # the last iteration's
        self._order: DataLoader[Any] = DataLoader(
            _Indices(dataset),
            batch_size=batch_size,
            shuffle=shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            drop_last=drop_last,
            collate_fn=list if batch_size is not None else _alone,
            generator=generator,
        )
        self._collate = _collating(collate_fn, is_batched=batch_size is not None, pins=pin_memory)

    def __len__(self) -> int:
        """Count the batches of an epoch."""
        return len(self._order)

    def __iter__(self) -> Iterator[Any]:
        return self._batches(iter(self._order))  # at this point a DataLoader draws from `generator`, and so do we

    def _batches(self, order: Iterator[list[Any]]) -> Generator[Any, None, None]:
        fetching = self._begun()
        asking = Asking(order, fetching.begin, concurrency=self._concurrency)
        stages = [
            Stage("fetch", partial(_fetched, fetching), threads=fetching.threads, depth=UNBOUNDED),  # items
            Stage("collate", _Gathering(self._collate), depth=UNBOUNDED),  # batches, and nothing for their items
        ]
        deadline = self._deadline_seconds
        with Pipeline(asking.queue, stages, deadline_seconds=deadline, waited_for=fetching.waited_for) as pipeline:
            asking.ask()
            try:
                # `map` lets go of each batch as it hands it on, and so does `filter`.
                yield from map(itemgetter(0), filter(None, map(asking.taken, pipeline)))
            except StalledError as error:
                if asking.next is None or hasattr(error, "__notes__"):
                    raise  # it was raised in a step, and not by waiting for one
                raise self._stalled(asking.next) from None

    def _begun(self) -> Fetching:
        """Give the way in which an iteration's items are fetched, once the iteration before has left the dataset."""
        if self._fetching is not None:
            self._fetching.leave()
        if is_asynchronous(self.dataset):
            limits = self._concurrency, self._deadline_seconds
            self._fetching = ByLoop(self.dataset, concurrency=limits[0], deadline_seconds=limits[1])
        else:
            self._fetching = ByThreads(self.dataset, concurrency=self._concurrency)
        return self._fetching

    def _stalled(self, step: Step) -> StalledError:
        since = step.began_seconds
        return StalledError(
            f"collate_fn did not put {step} together" if step.ends_batch else f"{step}, did not come",
            got="nothing, not even begun" if since is None else f"nothing after {time.monotonic() - since:.1f} s",
            expected=f"at most {self._deadline_seconds:g} s of waiting for it",
            hint="raise deadline_seconds if it is only slow",
        )

    def __repr__(self) -> str:
        way = "on one event loop" if is_asynchronous(self.dataset) else "by threads"
        return f"ConcurrentLoader({self.dataset!r}, {self._concurrency} items at a time, {way})"


@final
class _Indices(Dataset[Any]):
    """Stands for a dataset: its items are their indices."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: Any) -> Any:
        return index

    def __getitems__(self, indices: Any) -> Any:
        return indices


@final
class _Gathering:
    """Keeps the items of a batch until all of them are there."""

    def __init__(self, collate: Callable[[list[Any]], Any]) -> None:
        self._collate = collate
        self._items: list[Any] = []

    def __call__(self, fetched: Any) -> tuple[Any] | None:
        if not isinstance(fetched, Step):
            self._items.append(fetched)
            return None
        items, self._items = self._items, []
        with fetched:
            return (self._collate(items),)


def _fetched(fetching: Fetching, step: Step) -> Any:
    """Fetch an item; pass on the end of a batch."""
    return step if step.ends_batch else fetching.fetch(step)


def _collating(given: Callable[[Any], Any] | None, *, is_batched: bool, pins: bool) -> Callable[[list[Any]], Any]:
    """Say what is made of a batch's items, or of an item where there are no batches."""
    collate = given or (default_collate if is_batched else default_convert)

    def collated(items: list[Any]) -> Any:
        batch = collate(items if is_batched else items[0])
        return page_locked(batch) if pins else batch  # type: ignore[no-untyped-call]  # torch leaves it untyped

    return collated


def _alone(index: Any) -> list[Any]:
    return [index]
