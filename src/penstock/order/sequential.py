"""The order of storage: sample 0, then 1, then 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from penstock.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Sequential"]


@final
class Sequential:
    """All of [0, n) as it is stored; a slice of it is an array of sample ids."""

    def __init__(self, n: int) -> None:
        if n < 0:
            raise UsageError("an order has no negative length", got=n)
        self._n = n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, span: slice) -> NDArray[np.int64]:
        start, stop, step = span.indices(self._n)
        return np.arange(start, stop, step, dtype=np.int64)

    def __repr__(self) -> str:
        return f"Sequential({self._n})"
