"""Recycled memory that is safe to keep: arrays whose death gives their memory back.

Why recycle: a batch of images is tens of megabytes. Fresh memory of that size comes from the kernel page by page, each
zeroed at first touch, and goes back at the end of the batch; that costs as much as a tenth of the decoding. Why not a
ring of buffers: whoever keeps a batch would find other pixels in it later.

How: `Reservoir.array` hands out an array whose base is a lease. Views, slices, tensors made from it all hold the base.
When the last of them is gone, so is the lease, and its block returns to the reservoir. Whoever keeps batches keeps
their memory, the reservoir then simply makes new blocks: it never waits and never hands out memory that is in use.

The death of an array says that nobody in this process refers to it. It does not say that nobody reads it: a copy to a
device that was queued and not waited for still does. Whoever lends memory for such copies takes `spare=0`. Then nothing
comes back here, and whoever allocated the memory decides when it is free: torch's allocator of page-locked memory notes
the copies made from its blocks and waits for them.

A lease may die anywhere: in any thread, inside the garbage collector, while locks are held. So giving back takes no
lock; it is one append to a deque, which is atomic. At most `spare` free blocks are kept, the others go to the system.
"""

from __future__ import annotations

from collections import deque
from math import prod
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

__all__ = ["Reservoir"]


def _pageable(size_bytes: int) -> NDArray[np.uint8]:
    return np.empty(size_bytes, np.uint8)


@final
class Reservoir:
    """Blocks of one size, lent out as arrays."""

    def __init__(
        self, block_bytes: int, *, spare: int, allocate: Callable[[int], NDArray[np.uint8]] = _pageable
    ) -> None:
        self.block_bytes = block_bytes
        self._spare = spare
        self._allocate = allocate
        self._free: deque[NDArray[np.uint8]] = deque(maxlen=spare)  # beyond that the oldest falls out, and is freed

    def array(self, shape: tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """Lend an uninitialised array; its memory comes back when nothing refers to it any more."""
        kind = np.dtype(dtype)
        size_bytes = prod(shape) * kind.itemsize
        if size_bytes > self.block_bytes:
            raise ValueError(f"blocks have {self.block_bytes} bytes, asked for {size_bytes}")
        if (
            not self._spare
        ):  # no lease, so that the array's owner is the memory's own one, whatever that knows of its use
            block = self._allocate(max(self.block_bytes, 1))
            return block[:size_bytes].view(kind).reshape(shape)
        try:
            block = self._free.pop()  # the latest to come back: its pages are the likeliest to be in a cache
        except IndexError:
            block = self._allocate(max(self.block_bytes, 1))
        return np.asarray(_Lease(block, self._free, shape, kind.str))

    @property
    def free_blocks(self) -> int:
        """How many blocks lie ready."""
        return len(self._free)


@final
class _Lease:
    """The base of a lent array: NumPy sees its memory, and its death gives the block back."""

    __slots__ = ("__array_interface__", "_block", "_free")

    def __init__(
        self, block: NDArray[np.uint8], free: deque[NDArray[np.uint8]], shape: tuple[int, ...], typestr: str
    ) -> None:
        self._block = block
        self._free = free
        self.__array_interface__ = {
            "data": (block.ctypes.data, False),
            "shape": shape,
            "typestr": typestr,
            "version": 3,
        }

    def __del__(self) -> None:
        self._free.append(self._block)
