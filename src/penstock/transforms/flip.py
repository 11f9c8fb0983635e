"""RandomHorizontalFlip: mirrored left to right, or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from penstock.transforms.arguments import probability

if TYPE_CHECKING:
    from penstock.transforms.canvas import Canvas
    from penstock.transforms.protocol import UniformDraws

__all__ = ["RandomHorizontalFlip"]


@final
@dataclass(frozen=True)
class RandomHorizontalFlip:
    """Mirror a picture left to right with probability `p`."""

    p: float = 0.5

    pads = False

    def __post_init__(self) -> None:
        probability(self.p, what="RandomHorizontalFlip")

    def move(self, canvas: Canvas, draws: UniformDraws) -> None:
        """Move the frames of a batch."""
        canvas.flip(draws.uniform(1)[:, 0] < self.p)
