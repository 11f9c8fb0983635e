"""One sample, for looking at: what is stored of it, and its pictures, decoded by Pillow.

Training reads batches. This is for people, and for code that wants one sample's bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.decode.array import decode_array
from penstock.decode.image import decode_image, decode_mask
from penstock.errors import ImageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from penstock.types import StoredField

__all__ = ["Sample"]


@final
@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: stored bytes by field, labels by name."""

    id: int
    key: str
    fields: dict[str, StoredField]
    labels: dict[str, Any]

    def image(self) -> NDArray[np.uint8]:
        """Decode the image to [height, width, 3] uint8 RGB."""
        return self._decoded("image", decode_image)

    def mask(self) -> NDArray[np.uint8]:
        """Decode the mask to [height, width, 1] uint8: the values as stored."""
        return self._decoded("mask", decode_mask)

    def clip(self, field: str = "clip") -> NDArray[np.uint8]:
        """Decode the clip's frames, those that were read, to [frames, height, width, 3] uint8 RGB."""
        stored = self._stored(field)
        if stored.frames is None:
            raise UsageError("this field is no clip", got=repr(field), sample=self.key)
        out = np.empty((len(stored.frames), stored.height, stored.width, 3), np.uint8)
        for frame, (length, end) in enumerate(zip(stored.frames, accumulate(stored.frames), strict=True)):
            try:
                pixels = decode_image(stored.data[end - length : end])
            except ImageError as error:
                error.sample, error.frame = self.key, frame
                raise
            if pixels.shape != out.shape[1:]:
                got, expected = f"{pixels.shape[1]}x{pixels.shape[0]}", f"{stored.width}x{stored.height}"
                what = "a frame has another size than its clip"
                raise ImageError(what, sample=self.key, frame=frame, got=got, expected=expected)
            out[frame] = pixels
        return out

    def _decoded(self, field: str, decode: Callable[[bytes], NDArray[np.uint8]]) -> NDArray[np.uint8]:
        stored = self._stored(field)
        try:
            return decode_array(stored.data) if stored.format == "npy" else decode(stored.data)
        except ImageError as error:
            error.sample = self.key
            raise

    def _stored(self, field: str) -> StoredField:
        if field not in self.fields:
            raise UsageError("no such field", got=repr(field), expected=f"one of {tuple(self.fields)}", sample=self.key)
        return self.fields[field]
