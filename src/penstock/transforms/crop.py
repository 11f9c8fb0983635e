"""Crops: CenterCrop, RandomCrop, RandomResizedCrop, with torchvision v2's arguments, defaults and geometry.

What is kept of torchvision to the letter, because models are sensitive to it:
- CenterCrop's offset is half the difference, rounded half to even; a picture that is too small is padded first, the
  odd pixel going right and below.
- RandomCrop pads first (`padding` on the sides, then, with `pad_if_needed`, the whole missing length on *both* sides),
  then takes a corner uniformly. A picture that is still too small is an error.
- RandomResizedCrop tries ten times to find an area and an aspect ratio (uniform in the area, uniform in the logarithm
  of the ratio) that fit, then falls back to the largest central crop with an allowed ratio.

What differs: the random numbers. They are drawn per sample by name instead of from a global generator, so the same
seed gives other crops than torchvision's, with the same distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.errors import UsageError
from penstock.transforms.arguments import fill_values, require_bilinear, size_pair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from penstock.transforms.canvas import Canvas
    from penstock.transforms.protocol import UniformDraws

__all__ = ["CenterCrop", "RandomCrop", "RandomResizedCrop"]

TRIES = 10
EARLY_TRIES = 2  # nearly every picture finds its crop in these; only the others are given the rest
CORNER = 2 * TRIES  # the draws for the corner follow those of the tries


@final
@dataclass(frozen=True)
class CenterCrop:
    """The middle of the picture, padded with zeros where the picture is smaller."""

    size: int | Sequence[int]
    _sides: tuple[int, int] = field(init=False, repr=False)

    pads = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sides", size_pair(self.size, what="CenterCrop"))

    def move(self, canvas: Canvas, draws: UniformDraws) -> None:  # noqa: ARG002  the protocol's signature
        """Move the frames of a batch."""
        height, width = self._sides
        if (canvas.widths < width).any() or (canvas.heights < height).any():
            canvas.fill(0, 0)
        canvas.crop(_central(canvas.widths, width), _central(canvas.heights, height), width, height)


def _central(lengths: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Offsets of a central crop: inside rounded half to even, outside (negative) all but half of the missing pixels."""
    return np.where(lengths >= length, np.rint((lengths - length) / 2).astype(np.int64), -((length - lengths) // 2))


@final
@dataclass(frozen=True)
class RandomCrop:
    """A crop of fixed size at a random place, after padding."""

    size: int | Sequence[int]
    padding: int | Sequence[int] | None = None  # all sides; left and right, top and bottom; or left, top, right, bottom
    pad_if_needed: bool = False
    fill: int | Sequence[int] | Mapping[Any, Any] = 0
    padding_mode: str = "constant"
    _sides: tuple[int, int] = field(init=False, repr=False)
    _padding: tuple[int, int, int, int] = field(init=False, repr=False)
    _fills: tuple[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.padding_mode != "constant":
            raise UsageError("RandomCrop: padding_mode", got=self.padding_mode, expected="constant")
        object.__setattr__(self, "_sides", size_pair(self.size, what="RandomCrop"))
        object.__setattr__(self, "_padding", _four_paddings(self.padding))
        object.__setattr__(self, "_fills", fill_values(self.fill, what="RandomCrop"))

    @property
    def pads(self) -> bool:
        """Whether the fill value may show."""
        return self.pad_if_needed or any(self._padding)

    def move(self, canvas: Canvas, draws: UniformDraws) -> None:
        """Move the frames of a batch."""
        height, width = self._sides
        left, top, right, bottom = self._padding
        uniform = draws.uniform(2)
        tops = self._offsets(canvas.heights, (top, bottom), height, uniform[:, 0])
        lefts = self._offsets(canvas.widths, (left, right), width, uniform[:, 1])
        if self.pads:
            canvas.fill(*self._fills)
        canvas.crop(lefts, tops, width, height)

    def _offsets(
        self, lengths: NDArray[np.int64], padding: tuple[int, int], length: int, uniform: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        before = np.full(len(lengths), padding[0])
        padded = lengths + sum(padding)
        missing = np.maximum(length - padded, 0)
        if self.pad_if_needed:
            before += missing
            padded = padded + 2 * missing
        elif missing.any():
            first = int(np.argmax(missing > 0))
            raise UsageError(
                "RandomCrop: the picture is smaller than the crop",
                sample=first,
                got=f"{lengths[first]} pixels, {padded[first]} with padding",
                expected=f"at least {length}",
                hint="pass pad_if_needed=True, or resize first",
            )
        offsets: NDArray[np.int64] = np.floor(uniform * (padded - length + 1)).astype(np.int64) - before
        return offsets


def _four_paddings(padding: int | Sequence[int] | None) -> tuple[int, int, int, int]:
    sides = [0] if padding is None else [padding] if isinstance(padding, int) else list(padding)
    if len(sides) not in {1, 2, 4} or any(not isinstance(side, int) or side < 0 for side in sides):
        raise UsageError("RandomCrop: padding", got=padding, expected="one, two or four whole numbers, none negative")
    left, top, right, bottom = sides * (4 // len(sides))
    return left, top, right, bottom


@final
@dataclass(frozen=True)
class RandomResizedCrop:
    """A crop of random area and aspect ratio, resized to one size."""

    size: int | Sequence[int]
    scale: Sequence[float] = (0.08, 1.0)  # area of the crop as a share of the picture's
    ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0)  # width over height
    interpolation: Any = "bilinear"
    antialias: bool | None = True
    _sides: tuple[int, int] = field(init=False, repr=False)

    pads = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sides", size_pair(self.size, what="RandomResizedCrop"))
        require_bilinear(self.interpolation, self.antialias, what="RandomResizedCrop")
        for name, pair in (("scale", self.scale), ("ratio", self.ratio)):
            if len(pair) != 2 or not 0 < pair[0] <= pair[1]:
                raise UsageError(f"RandomResizedCrop: {name}", got=pair, expected="(smallest, largest), above 0")

    def move(self, canvas: Canvas, draws: UniformDraws) -> None:
        """Move the frames of a batch."""
        height, width = self._sides
        found, widths, heights = self._tries(canvas.widths, canvas.heights, draws, 0, EARLY_TRIES)
        missed = np.flatnonzero(~found)
        if missed.size:
            frame_widths, frame_heights = canvas.widths[missed], canvas.heights[missed]
            late, late_widths, late_heights = self._tries(
                frame_widths, frame_heights, draws.only(missed), EARLY_TRIES, TRIES
            )
            whole_widths, whole_heights = self._fallback(frame_widths, frame_heights)
            widths[missed] = np.where(late, late_widths, whole_widths)
            heights[missed] = np.where(late, late_heights, whole_heights)
            found[missed] = late
        spare_x, spare_y = canvas.widths - widths, canvas.heights - heights
        corner = draws.uniform(2, first=CORNER)
        tops = np.where(found, np.floor(corner[:, 0] * (spare_y + 1)).astype(np.int64), spare_y // 2)
        lefts = np.where(found, np.floor(corner[:, 1] * (spare_x + 1)).astype(np.int64), spare_x // 2)
        canvas.crop(lefts, tops, widths, heights)
        canvas.resize(width, height)

    def _tries(
        self, widths: NDArray[np.int64], heights: NDArray[np.int64], draws: UniformDraws, start: int, stop: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """Make tries start … stop: whether one fits, and the sizes of the first that does."""
        uniform = draws.uniform(2 * (stop - start), first=2 * start)
        areas = (widths * heights)[:, None] * (self.scale[0] + uniform[:, 0::2] * (self.scale[1] - self.scale[0]))
        low, high = np.log(self.ratio[0]), np.log(self.ratio[1])
        ratios = np.exp(low + uniform[:, 1::2] * (high - low))
        crop_widths = np.rint(np.sqrt(areas * ratios)).astype(np.int64)
        crop_heights = np.rint(np.sqrt(areas / ratios)).astype(np.int64)
        fits = (crop_widths > 0) & (crop_widths <= widths[:, None])
        fits &= (crop_heights > 0) & (crop_heights <= heights[:, None])
        first = np.argmax(fits, axis=1)
        rows = np.arange(len(first))
        return fits[rows, first], crop_widths[rows, first], crop_heights[rows, first]

    def _fallback(
        self, widths: NDArray[np.int64], heights: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give the largest size with an allowed ratio, or the whole picture where its ratio is allowed."""
        low, high = min(self.ratio), max(self.ratio)
        ratios = widths / heights
        crop_widths = np.where(ratios > high, np.rint(heights * high).astype(np.int64), widths)
        crop_heights = np.where(ratios < low, np.rint(widths / low).astype(np.int64), heights)
        # Rounding must not leave the picture by a pixel.
        return np.clip(crop_widths, 1, widths), np.clip(crop_heights, 1, heights)
