"""The plan: what a list of transforms comes to, split by where it runs.

    sampling    which frames of a clip are read
    geometric   frames to move; the decoder makes the pixels once, from their sum
    values      dtype and normalisation, one pass over the finished batch
    rest        from the first transform on that we do not know: torch tensors, after decoding

Order matters and is kept where it can be seen. Value transforms that stand before a geometric one are moved behind it:
crops and flips do not care, and a resize differs by the rounding to uint8 alone. A transform that pads is the
exception, because its fill value would be normalised too: that order is refused.

Where no geometric transform fixes the size, one of the rest may: a crop with bicubic resampling, say. Then there is no
size that all images leave the decoder with. They leave it whole, each with its own, and become a batch later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.errors import UsageError
from penstock.transforms.canvas import Canvas
from penstock.transforms.clip import ClipSample
from penstock.transforms.crop import CenterCrop, RandomCrop, RandomResizedCrop
from penstock.transforms.normalize import Normalize, ToDtype, Values
from penstock.transforms.protocol import Geometric
from penstock.transforms.resize import Resize
from penstock.transforms.torchvision import Foreign, flatten, translate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.transforms.clip import ClipLayout
    from penstock.transforms.protocol import UniformDraws
    from penstock.types import Geometry

__all__ = ["Plan"]

LARGE = 2**20  # more than a side of any image


@final
class Plan:
    """Transforms, sorted by where they run.

    `sampling` before anything is read, `geometric` in the decoder, `values` on the batch, `rest` on tensors.
    """

    def __init__(self, transforms: Any = ()) -> None:
        sampling: list[ClipSample] = []
        geometric: list[Geometric] = []
        values: list[ToDtype | Normalize] = []
        rest: list[Foreign | ToDtype | Normalize] = []
        for given in flatten(transforms):
            own = given if isinstance(given, (ClipSample, Geometric, ToDtype, Normalize)) else translate(given)
            if isinstance(own, ClipSample):
                sampling.append(own)
            elif isinstance(own, (ToDtype, Normalize)):
                (rest or values).append(own)
            elif isinstance(own, Foreign):
                rest.append(own)
            elif rest and own is given:
                raise UsageError(
                    f"{type(own).__name__} cannot follow {_name(rest[0])}",
                    hint="put penstock's geometric transforms first: they run in the decoder",
                )
            elif rest:
                rest.append(Foreign(given, f"follows {_name(rest[0])}"))
            elif values and own.pads:
                raise UsageError(
                    f"{type(own).__name__} may pad, so it cannot follow {type(values[-1]).__name__}",
                    hint="put it before the transforms of values",
                )
            else:
                geometric.append(own)
        if len(sampling) > 1:
            raise UsageError("one ClipSample chooses the frames of a clip", got=sampling)
        self.sampling = sampling[0] if sampling else None
        self.geometric = tuple(geometric)
        self.values = Values.of(values)
        self.rest = tuple(rest)

    @property
    def clip_layout(self) -> ClipLayout:
        """In which order a clip has its axes where channels come before pixels."""
        return "CTHW" if self.sampling is None else self.sampling.layout

    def geometry(self, widths: NDArray[np.int32], heights: NDArray[np.int32], draws: UniformDraws) -> Geometry:
        """Where the output images of these samples lie in their sources. Errors name a sample by its position here."""
        return self.frames(widths, heights, draws).geometry()

    def frames(self, widths: NDArray[np.int32], heights: NDArray[np.int32], draws: UniformDraws) -> Canvas:
        """Where the frames of these samples have moved to; their sizes may differ."""
        canvas = Canvas(widths, heights)
        for stream, transform in enumerate(self.geometric):
            transform.move(canvas, draws.for_stream(stream))
        return canvas

    def output_size(
        self,
        widths: NDArray[np.int32],
        heights: NDArray[np.int32],
        draws_for: Callable[[NDArray[np.intp]], UniformDraws],
    ) -> tuple[int, int] | None:
        """(height, width) of every image that leaves the decoder, given all sizes of a dataset.

        Where they would differ: None if one of the rest may make them equal, otherwise an error. Errors name a sample
        by its position among those given.
        """
        if not len(widths):
            return 0, 0
        if self._fixes_size:
            some = np.zeros(1, np.intp)
        else:  # every size that occurs, once
            some = np.unique(widths.astype(np.int64) << 32 | heights, return_index=True)[1]
        try:
            frames = self.frames(widths[some], heights[some], draws_for(some))
            if self.leaves_size_open and not frames.has_one_size:
                return None
            geometry = frames.geometry()
        except UsageError as error:
            if isinstance(error.sample, int):
                error.sample = int(some[error.sample])
            raise
        return geometry.height, geometry.width

    def size_of_any(self, draws: UniformDraws) -> tuple[int, int] | None:
        """(height, width) of every image that leaves the decoder, whatever it is given; None where that matters.

        `draws` are those of any one sample.
        """
        if not self._fixes_size:
            return None
        large = np.full(1, LARGE, np.int32)  # not too small for any crop
        frames = self.frames(large, large, draws)
        return int(frames.heights[0]), int(frames.widths[0])

    @property
    def told_rest(self) -> str:
        """Name the rest, and say why the decoder does not do what it might be thought to do."""
        return ", ".join(one.told if isinstance(one, Foreign) else type(one).__name__ for one in self.rest)

    @property
    def leaves_size_open(self) -> bool:
        """Whether it is for the rest to fix the size."""
        return not self._fixes_size and any(isinstance(one, Foreign) and one.moves_pixels for one in self.rest)

    @property
    def _fixes_size(self) -> bool:
        """Whether the geometric transforms end in one size whatever they are given."""
        return any(
            isinstance(transform, (CenterCrop, RandomCrop, RandomResizedCrop))
            or (isinstance(transform, Resize) and isinstance(transform.size, Sequence) and len(transform.size) == 2)
            for transform in self.geometric
        )

    def __repr__(self) -> str:
        sampling = "" if self.sampling is None else f"sampling={self.sampling}, "
        return f"Plan({sampling}geometric={list(self.geometric)}, values={self.values}, rest=[{self.told_rest}])"


def _name(transform: Foreign | ToDtype | Normalize) -> str:
    return transform.name if isinstance(transform, Foreign) else type(transform).__name__
