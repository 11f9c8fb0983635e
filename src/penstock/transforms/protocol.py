"""What the transforms ask of others, and what is asked of them.

A geometric transform moves no pixels. It is handed the canvas of a whole batch (where each picture's frame lies in its
source by now) and moves the frames; the decoder then makes the pixels once, from the sum of it all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from penstock.transforms.canvas import Canvas

__all__ = ["Geometric", "UniformDraws"]


class UniformDraws(Protocol):
    """Uniform numbers for the samples of a batch, decided by sample and not by the order of asking."""

    def for_stream(self, stream: int) -> UniformDraws:
        """Give the same samples' draws of another stream."""

    def only(self, positions: NDArray[np.intp]) -> UniformDraws:
        """Give the draws of some of the samples."""

    def uniform(self, count: int, *, first: int = 0) -> NDArray[np.float64]:
        """Draw [samples, count] floats in [0, 1)."""


@runtime_checkable
class Geometric(Protocol):
    """A transform that moves frames."""

    @property
    def pads(self) -> bool:
        """Whether the frame may come to lie partly outside the picture, where a fill value shows."""

    def move(self, canvas: Canvas, draws: UniformDraws) -> None:
        """Move the frames of a batch."""
