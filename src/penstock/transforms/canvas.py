"""The canvas: where the frames of a batch lie in their sources while one geometric transform after another moves them.

Each picture has a frame of `widths` x `heights` pixels. It shows the `regions` of the source (float, source pixels),
mirrored where `flips` says so. The `clips` are the source pixels that may be read. Three moves exist:

- `crop` keeps a part of the frame. Before any resampling the part is made of whole source pixels and nothing outside
  it may show later, not even in a filter's margin, as if the pixels had been cut out: the clip shrinks to the crop.
  After a resampling the filter has already looked across the crop's border, so the clip stays.
- `resize` gives the frame another size; region and clip stay. Two resizes come to one, straight from the source: the
  same geometry, one filter instead of two, hence a little sharper.
- `flip` mirrors some of the frames. A later crop of a mirrored frame is taken from the other side of the source.

A crop may reach outside the picture: the region then leaves the clip, and the decoder shows the fill value there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from penstock.errors import UsageError
from penstock.types import Geometry

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Canvas"]


@final
class Canvas:
    """The frames of a batch: their sizes, and where they lie in their sources."""

    def __init__(self, widths: NDArray[np.int32], heights: NDArray[np.int32]) -> None:
        self.widths = widths.astype(np.int64)
        self.heights = heights.astype(np.int64)
        n = len(widths)
        self._regions = np.zeros((n, 4))
        self._regions[:, 2] = widths
        self._regions[:, 3] = heights
        self._clips = self._regions.copy()
        self._flips = np.zeros(n, bool)
        self._is_flipped = False
        self._is_resampled = False
        self._fills: tuple[int, int] | None = None

    def crop(
        self,
        lefts: NDArray[np.int64],
        tops: NDArray[np.int64],
        widths: NDArray[np.int64] | int,
        heights: NDArray[np.int64] | int,
    ) -> None:
        """Keep a part of every frame; it may reach outside of it."""
        if self._is_flipped:
            lefts = np.where(self._flips, self.widths - lefts - widths, lefts)
        regions = self._regions
        parts = np.empty_like(regions)
        if self._is_resampled:
            x_steps = (regions[:, 2] - regions[:, 0]) / self.widths
            y_steps = (regions[:, 3] - regions[:, 1]) / self.heights
            parts[:, 0] = regions[:, 0] + lefts * x_steps
            parts[:, 1] = regions[:, 1] + tops * y_steps
            parts[:, 2] = regions[:, 0] + (lefts + widths) * x_steps
            parts[:, 3] = regions[:, 1] + (tops + heights) * y_steps
        else:
            parts[:, 0] = regions[:, 0] + lefts
            parts[:, 1] = regions[:, 1] + tops
            parts[:, 2] = parts[:, 0] + widths
            parts[:, 3] = parts[:, 1] + heights
            clips = self._clips
            # A frame that has left the picture altogether keeps an empty clip at the picture's edge.
            np.clip(parts[:, 0::2], clips[:, 0:1], clips[:, 2:3], out=clips[:, 0::2])
            np.clip(parts[:, 1::2], clips[:, 1:2], clips[:, 3:4], out=clips[:, 1::2])
        self._regions = parts
        self.widths = np.broadcast_to(np.asarray(widths, np.int64), self.widths.shape)
        self.heights = np.broadcast_to(np.asarray(heights, np.int64), self.heights.shape)

    def resize(self, widths: NDArray[np.int64] | int, heights: NDArray[np.int64] | int) -> None:
        """Give the frames another size."""
        self._is_resampled = True
        self.widths = np.broadcast_to(np.asarray(widths, np.int64), self.widths.shape)
        self.heights = np.broadcast_to(np.asarray(heights, np.int64), self.heights.shape)

    def flip(self, chosen: NDArray[np.bool_]) -> None:
        """Mirror the chosen frames left to right."""
        self._flips = self._flips ^ chosen
        self._is_flipped = True

    def fill(self, image: int, mask: int) -> None:
        """Say what shows outside the picture."""
        if self._fills not in {None, (image, mask)}:
            raise UsageError(
                "two transforms pad with different values",
                got=f"{self._fills} and {(image, mask)}",
                expected="one fill",
            )
        self._fills = (image, mask)

    @property
    def has_one_size(self) -> bool:
        """Whether all frames have the same size."""
        return not ((self.widths != self.widths[:1]).any() or (self.heights != self.heights[:1]).any())

    def geometry(self) -> Geometry:
        """Sum up the moves; all frames must have the same size by now."""
        width = int(self.widths[0]) if len(self.widths) else 0
        height = int(self.heights[0]) if len(self.heights) else 0
        other = np.flatnonzero((self.widths != width) | (self.heights != height))
        if other.size:
            raise UsageError(
                "the images of a batch differ in size after their transforms",
                sample=int(other[0]),
                got=f"{width}x{height} and {self.widths[other[0]]}x{self.heights[other[0]]}",
                expected="one size",
                hint="end with a transform that fixes the size, such as CenterCrop(224) or RandomResizedCrop(224)",
            )
        fill, mask_fill = self._fills or (0, 0)
        return Geometry(
            self._regions, self._clips.astype(np.int32), self._flips.astype(np.uint8), width, height, fill, mask_fill
        )
