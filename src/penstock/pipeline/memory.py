"""The memory that batches live in: recycled arrays by field, and how many batches may be in flight.

A batch passes through a block of encoded bytes and, for each field, uint8 pixels, and values of another type where one
is asked for. All come from reservoirs or stocks of their own, so that after the first few batches nothing is
allocated. How many batches may wait between the stages follows from the budget, see budget.py.
"""

from __future__ import annotations

from collections import deque
from math import prod
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.pipeline.budget import Later, Load, depth_within
from penstock.pipeline.lease import Reservoir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["BatchMemory", "compacted"]

DEFAULT_BYTES = 512 * 2**20
DEFAULT_DEPTH = 2  # granted by default even where it takes more memory than that


@final
class BatchMemory:
    """Arrays for batches of `batch_size` samples of some fields, used again once they are dropped.

    `shapes` are those of one sample's pixels, `dtypes` what batches have in the end. `encoded_bytes` is what a batch
    takes encoded on average, all its fields, and `largest_bytes` what any takes at the most, or `arena_bytes` what the
    arena takes that encoded samples lie in; `under_way_bytes` are on their way there from a store. `later` names the
    dtypes that a step after decoding gives to batches in host memory: nothing for those that it moves elsewhere; None
    means that there is no such step. `budget` is in bytes.
    `allocate` makes the memory that batches leave in. With `recycles=False` that memory is made anew for each batch:
    for batches that something may still read after they are dropped, see lease.py.
    """

    def __init__(
        self,
        batch_size: int,
        *,
        shapes: Mapping[str, tuple[int, ...]],
        dtypes: Mapping[str, np.dtype[Any]],
        encoded_bytes: int,
        arena_bytes: int = 0,
        under_way_bytes: int = 0,
        largest_bytes: int = 0,
        calls: int,
        later: Mapping[str, str] | None,
        budget: int | None,
        allocate: Callable[[int], NDArray[np.uint8]] | None = None,
        recycles: bool = True,
    ) -> None:
        pixels = {name: batch_size * prod(shape) for name, shape in shapes.items()}
        sizes = {name: pixels[name] * dtype.itemsize for name, dtype in dtypes.items()}
        scratch = sum(pixels[name] for name, dtype in dtypes.items() if dtype != np.uint8)
        load = Load(
            encoded_bytes,
            sum(sizes.values()),
            calls,
            scratch,
            None if later is None else _later(pixels, later),
            arena_bytes,
            under_way_bytes,
            largest_bytes,
        )
        self._batch_size, self._shapes, self._dtypes, self._encoded_bytes = batch_size, shapes, dtypes, encoded_bytes
        self.depth = depth_within(max(DEFAULT_BYTES, load.bytes_at(DEFAULT_DEPTH)) if budget is None else budget, load)
        self.size_bytes = load.bytes_at(self.depth)
        self.encoded_bytes = load.encoded_at(self.depth)  # of all encoded batches together
        spare = self.depth + calls + 2
        make = {} if allocate is None else {"allocate": allocate}
        kept = spare if recycles else 0
        self._results = {name: Reservoir(size, spare=kept, **make) for name, size in sizes.items()}
        # Pixels that are about to become other values are uint8 for a moment, one array per decoding call.
        self._scratch = {name: Reservoir(size, spare=calls) for name, size in pixels.items()}
        self._blocks: deque[NDArray[np.uint8]] = deque(maxlen=spare)

    def block(self, least_bytes: int) -> NDArray[np.uint8]:
        """Give memory for encoded bytes: used before, unless it must be larger than usual."""
        if least_bytes > self._encoded_bytes:
            self._blocks.clear()  # what lies ready is room that this one needs
            return np.empty(least_bytes, np.uint8)
        try:
            return self._blocks.pop()
        except IndexError:
            return np.empty(self._encoded_bytes, np.uint8)

    def take_back(self, block: NDArray[np.uint8]) -> None:
        """Keep a block that nobody reads any more for a later batch."""
        if len(block) == self._encoded_bytes:
            self._blocks.append(block)

    def block_bytes(self, least_bytes: int) -> int:
        """Say how large the block is that `block` gives."""
        return max(least_bytes, self._encoded_bytes)

    def pixels(self, name: str, count: int) -> NDArray[np.uint8]:
        """Give an array for the decoded pixels of `count` samples."""
        return self._array(self._results if self._dtypes[name] == np.uint8 else self._scratch, name, count, np.uint8)

    def values(self, name: str, count: int) -> NDArray[Any]:
        """Give an array for the values that pixels become."""
        return self._array(self._results, name, count, self._dtypes[name])

    def _array(self, among: dict[str, Reservoir], name: str, count: int, dtype: Any) -> NDArray[Any]:
        shape = (count, *self._shapes[name])
        fits = count <= self._batch_size  # samples may also be asked for by number, and be more than a batch
        return among[name].array(shape, dtype) if fits else np.empty(shape, dtype)


def _later(values: Mapping[str, int], dtypes: Mapping[str, str]) -> Later:
    """Count what a step after decoding makes, for so many values in each field. It computes in float32 at the least."""
    sizes = {name: 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize for name, dtype in dtypes.items()}
    passing = [4 * values[name] for name, dtype in dtypes.items() if dtype not in {"uint8", "float32", "float64"}]
    return Later(sum(values[name] * size for name, size in sizes.items()), max(passing, default=0))


def compacted(array: NDArray[Any] | list[Any], kept: NDArray[np.intp]) -> NDArray[Any] | list[Any]:
    """Move the samples that are kept to the front, in place, and give just those."""
    if isinstance(array, list):
        return [array[at] for at in kept.tolist()]
    for to, at in enumerate(kept.tolist()):
        if to != at:
            array[to] = array[at]
    return array[: len(kept)]
