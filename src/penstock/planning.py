"""Planning: everything about a batch's samples that is known before a byte of them is read.

For thousands of samples at a time, because array operations cost the same for eight: which samples come at these
positions, which frames of their clips are shown, what the index says of them, their labels, and where each output lies
in its source. Batches are views of that. Only where EXIF orientations are applied, or where the index does not know the
images' sizes, must the geometry wait: both are read with the images. And where images keep sizes of their own until
after decoding, each has a geometry of its own, computed when its turn comes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.decode.batch import Expected
from penstock.errors import UsageError
from penstock.order import Draws
from penstock.order.course import Place
from penstock.order.position import Position
from penstock.reading import Wanted

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from penstock.frame_choice import FrameChoice
    from penstock.order.course import Leg
    from penstock.order.share import Share
    from penstock.pipeline.tally import Tally
    from penstock.selection import Selection
    from penstock.transforms import Plan
    from penstock.types import Geometry

__all__ = ["Planned", "Planner"]


@final
@dataclass(frozen=True, slots=True)
class Planned:
    """A batch before anything is read: what the index says of its samples, and where outputs lie in their sources."""

    tally: Tally
    epoch: int
    wanted: Wanted
    expected: dict[str, Expected]  # by field
    labels: dict[str, Any]
    geometry: Geometry | None  # None: it needs what is read with the images, or is not one

    @property
    def ids(self) -> NDArray[np.int64]:
        """The samples' numbers."""
        return self.wanted.ids

    def part(self, part: slice, padding: int) -> Planned:
        """Give some of the samples: views, no copies."""
        return Planned(
            self.tally,
            self.epoch,
            self.wanted.part(part, padding),
            {name: expected.part(part) for name, expected in self.expected.items()},
            {name: labels[part] for name, labels in self.labels.items()},
            None if self.geometry is None else _part(self.geometry, part),
        )


@final
class Planner:
    """Plans batches of some fields under some transforms."""

    def __init__(
        self, selection: Selection, plan: Plan, choice: FrameChoice, *, seed: int, orients: bool, verify: bool
    ) -> None:
        self._selection, self._plan, self._choice, self._seed = selection, plan, choice, seed
        self._orients, self._verify = orients, verify
        self.size: tuple[int, int] | None = None  # None: each image leaves the decoder with a size of its own
        if orients and plan.leaves_size_open and len(selection.dataset):
            return  # which of them are turned is not known yet
        if selection.is_unread:
            self.size = plan.size_of_any(Draws.of(seed, 0, np.zeros(1, np.int64)))
            if self.size is None and not plan.leaves_size_open:
                raise UsageError(
                    "the transforms do not fix the size, and those of the images are not known before they are read",
                    got=repr(plan),
                    hint="end with a transform that fixes the size, such as CenterCrop(224) or RandomResizedCrop(224)",
                )
            return
        try:
            self.size = plan.output_size(selection.widths, selection.heights, lambda ids: Draws.of(seed, 0, ids))
        except UsageError as error:
            raise selection.named(error, np.arange(len(selection.dataset))) from None

    def batches(self, legs: Iterable[Leg], share: Share, places: deque[Place], tally: Tally) -> Iterator[Planned]:
        """Yield a rank's batches of some epochs, and note the place of each."""
        for leg in legs:
            for slab in share.slabs(len(leg.order), leg.start):
                ids = leg.order.at(slab.positions)
                samples = self.samples(Wanted(ids, 0, leg, slab.positions), leg.epoch, tally)
                for part, stop, padding in slab.batches():
                    planned = samples.part(part, padding)
                    places.append(Place(Position(leg.epoch, stop), planned.ids[: len(planned.ids) - padding]))
                    yield planned

    def samples(self, wanted: Wanted, epoch: int, tally: Tally) -> Planned:
        """Look up everything about these samples that is known before reading."""
        ids, masks, chosen = wanted.ids, self._selection.masks, self._choice.of(wanted.ids, wanted.names, epoch)
        wanted = replace(wanted, chosen=chosen)
        expected = {
            name: Expected.of(column, ids, chosen.get(name), is_mask=name in masks, verify=self._verify)
            for name, column in self._selection.columns.items()
        }
        waits = self._orients or self._selection.is_unread or self.size is None
        geometry = None if waits else self.geometry(wanted, epoch)
        return Planned(tally, epoch, wanted, expected, self._selection.labels(ids), geometry)

    def geometry(
        self,
        wanted: Wanted,
        epoch: int,
        orientations: NDArray[np.uint8] | None = None,
        found: NDArray[np.int32] | None = None,
    ) -> Geometry:
        """Draw the crops of these samples, turned by their orientations if those are given.

        `found` are the [n, 2] sizes that were read with the images, 0 where the index has them.
        """
        ids = wanted.ids
        widths, heights = self._selection.sizes(ids)
        if found is not None:
            widths, heights = (
                np.where(side > 0, side, known) for side, known in zip(found.T, (widths, heights), strict=True)
            )
        if orientations is not None:  # EXIF 5 … 8 are quarter turns
            turned = orientations >= 5
            widths, heights = np.where(turned, heights, widths), np.where(turned, widths, heights)
        try:
            geometry = self._plan.geometry(widths, heights, Draws.of(self._seed, epoch, wanted.names))
        except UsageError as error:  # an image that is too small for its crop
            raise self._selection.named(error, ids) from None
        turned_size = (geometry.height, geometry.width)
        if orientations is not None and len(ids) and self.size is not None and turned_size != self.size:
            raise UsageError(
                "the images differ in size when they are turned by their orientations",
                got=f"{geometry.width}x{geometry.height}",
                expected=f"{self.size[1]}x{self.size[0]}",
                hint="end with a transform that fixes the size, such as CenterCrop(224) or RandomResizedCrop(224)",
            )
        return geometry

    def geometries(
        self,
        wanted: Wanted,
        epoch: int,
        orientations: NDArray[np.uint8] | None = None,
        found: NDArray[np.int32] | None = None,
    ) -> list[Geometry]:
        """Give each of these samples a geometry of its own: their sizes may differ."""
        return [
            self.geometry(
                wanted.part(one, 0),
                epoch,
                None if orientations is None else orientations[one],
                None if found is None else found[one],
            )
            for one in (slice(at, at + 1) for at in range(len(wanted.ids)))
        ]

    def image_pixels(self, batch_size: int, *, most: int) -> int:
        """Expect so many pixels per image where they have sizes of their own, none of them more than `most`.

        That is the average, with a quarter to spare for batches above it, and in every batch the largest image of all.
        Sizes that the index does not know are guessed from the encoded bytes, see `Selection`.
        """
        selection = self._selection
        draws = Draws.of(self._seed, 0, np.arange(len(selection.dataset)))
        frames = self._plan.frames(selection.widths, selection.heights, draws)
        pixels = np.minimum(frames.widths * frames.heights, most)
        return int(1.25 * pixels.mean() + pixels.max() / batch_size) + 1


def _part(geometry: Geometry, part: slice) -> Geometry:
    return replace(geometry, regions=geometry.regions[part], clips=geometry.clips[part], flips=geometry.flips[part])
