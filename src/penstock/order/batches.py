"""An order cut into batches: which samples form batch 0, 1, 2, … Pure, lazy, and cheap per sample.

Slices of the order are computed for many batches at a time (`SLAB_SAMPLES`), because the NumPy calls that make them
cost the same for eight samples as for a thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Order", "batch_count", "batch_slices", "slabs"]

SLAB_SAMPLES = 2048


class Order(Protocol):
    """A sequence of sample ids, computed slice by slice."""

    def __len__(self) -> int: ...
    def __getitem__(self, span: slice, /) -> NDArray[np.int64]: ...


def batch_count(samples: int, batch_size: int, *, drop_last: bool) -> int:
    """How many batches an epoch has."""
    if batch_size < 1:
        raise UsageError("a batch holds at least one sample", got=batch_size)
    return samples // batch_size if drop_last else -(-samples // batch_size)


def slabs(order: Order, batch_size: int, *, drop_last: bool) -> Iterator[NDArray[np.int64]]:
    """Yield the epoch's ids, many whole batches at a time (the last slab may end with a shorter batch)."""
    count = batch_count(len(order), batch_size, drop_last=drop_last)
    total = min(count * batch_size, len(order))
    slab = max(SLAB_SAMPLES // batch_size, 1) * batch_size
    for start in range(0, total, slab):
        yield order[start : min(start + slab, total)]


def batch_slices(slab_samples: int, batch_size: int) -> Iterator[slice]:
    """Yield where the batches lie in a slab."""
    for start in range(0, slab_samples, batch_size):
        yield slice(start, min(start + batch_size, slab_samples))
