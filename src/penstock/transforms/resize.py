"""Resize, with torchvision v2's size rules.

- `size=(h, w)`: exactly that.
- `size=s`: the shorter side becomes s, the longer one s * long / short, cut to a whole number; with `max_size` the
  longer side is then limited to it, and the shorter one follows.
- `size=None` with `max_size=m`: the longer side becomes m, the shorter one follows.

A side never falls below one pixel (torchvision fails there).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.errors import UsageError
from penstock.transforms.arguments import require_bilinear, size_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.transforms.canvas import Canvas
    from penstock.transforms.protocol import UniformDraws

__all__ = ["Resize"]


@final
@dataclass(frozen=True)
class Resize:
    """Another size, by antialiased bilinear resampling."""

    size: int | Sequence[int] | None
    interpolation: Any = "bilinear"
    max_size: int | None = None
    antialias: bool | None = True

    pads = False

    def __post_init__(self) -> None:
        require_bilinear(self.interpolation, self.antialias, what="Resize")
        if self.size is None:
            if self.max_size is None:
                raise UsageError("Resize: size=None needs max_size")
            size_pair(self.max_size, what="Resize, max_size")
            return
        shorter, _ = size_pair(self.size, what="Resize")
        if self.max_size is not None:
            if self._is_exact:
                raise UsageError("Resize: max_size goes with one size for the shorter side", got=self.size)
            if self.max_size <= shorter:
                raise UsageError("Resize: max_size", got=self.max_size, expected=f"above size, {shorter}")

    @property
    def _is_exact(self) -> bool:
        return isinstance(self.size, Sequence) and len(self.size) == 2

    def move(self, canvas: Canvas, draws: UniformDraws) -> None:  # noqa: ARG002  the protocol's signature
        """Move the frames of a batch."""
        if self.size is not None and self._is_exact:
            height, width = size_pair(self.size, what="Resize")
            canvas.resize(width, height)
            return
        widths, heights = canvas.widths, canvas.heights
        shorts, longs = self._sides(np.minimum(widths, heights), np.maximum(widths, heights))
        is_upright = widths <= heights
        canvas.resize(np.where(is_upright, shorts, longs), np.where(is_upright, longs, shorts))

    def _sides(
        self, shorts: NDArray[np.int64], longs: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give the new shorter and longer sides."""
        if self.size is None:
            limits = np.full_like(longs, self.max_size or 0)
            return np.maximum((limits * shorts / longs).astype(np.int64), 1), limits
        size, _ = size_pair(self.size, what="Resize")
        new_shorts = np.full_like(shorts, size)
        new_longs = (size * longs / shorts).astype(np.int64)
        if self.max_size is not None:
            is_over = new_longs > self.max_size
            limited = np.maximum((self.max_size * new_shorts / new_longs).astype(np.int64), 1)
            new_shorts = np.where(is_over, limited, new_shorts)
            new_longs = np.where(is_over, self.max_size, new_longs)
        return new_shorts, new_longs
