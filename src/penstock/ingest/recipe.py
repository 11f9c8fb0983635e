"""A recipe: what packing does to pictures, besides storing them. By default nothing that changes a pixel."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from penstock.errors import UsageError

__all__ = ["Recipe"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to do to images and to the frames of clips."""

    keep_bytes: bool = False  # store files as they are
    max_side: int | None = None  # scale down until the longer side is at most this, and encode again
    short_side: int | None = None  # the same with the shorter side
    quality: int | None = None  # JPEG quality of what is encoded again; without a size, that is everything
    raw: bool = False  # store decoded pixels

    def __post_init__(self) -> None:
        if self.keep_bytes and (self.raw or self.scales or self.quality is not None):
            raise UsageError("keep_bytes stores files as they are: it goes with none of raw, sizes, quality")
        if self.raw and self.quality is not None:
            raise UsageError("raw stores pixels: there is no quality to choose")
        if self.max_side is not None and self.short_side is not None:
            got = f"max_side={self.max_side}, short_side={self.short_side}"
            raise UsageError("one side decides the size", got=got, expected="one of the two")
        for name, side in (("max_side", self.max_side), ("short_side", self.short_side)):
            if side is not None and side < 1:
                raise UsageError(f"{name} is in pixels", got=side, expected="at least 1")
        if self.quality is not None and not 1 <= self.quality <= 100:
            raise UsageError("quality out of range", got=self.quality, expected="1 to 100")

    def as_dict(self) -> dict[str, Any]:
        """Give the settings, for the manifest."""
        return asdict(self)

    def of_made(self) -> Recipe:
        """Give what is left to do to pictures that were made by this recipe: to store them."""
        return Recipe(keep_bytes=self.keep_bytes)

    @property
    def scales(self) -> bool:
        """Whether large images are made smaller."""
        return self.max_side is not None or self.short_side is not None

    def fitted(self, width: int, height: int) -> tuple[int, int]:
        """Give the size after scaling; never less than one pixel, never more than it was."""
        side, limit = max(width, height), self.max_side
        if self.short_side is not None:
            side, limit = min(width, height), self.short_side
        if limit is None or side <= limit:
            return width, height
        return max(1, round(width * limit / side)), max(1, round(height * limit / side))

    def reencodes(self, width: int, height: int) -> bool:
        """Whether an image of this size is encoded again."""
        if not self.scales:
            return self.quality is not None
        return self.fitted(width, height) != (width, height)
