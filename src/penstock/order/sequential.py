"""The order of storage: sample 0, then 1, then 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from penstock.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Sequential"]


@final
class Sequential:
    """All of [0, n) as it is stored."""

    repeats: Final = False

    def __init__(self, n: int) -> None:
        if n < 0:
            raise UsageError("an order has no negative length", got=n)
        self._n = n

    def __len__(self) -> int:
        return self._n

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the ids at these positions: the same numbers."""
        return positions

    def __repr__(self) -> str:
        return f"Sequential({self._n})"
