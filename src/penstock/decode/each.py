"""The decoder for images that keep sizes of their own: each sample in a call by itself, into an array by itself.

A batch has no common shape where the transform that fixes the size is not ours and runs after decoding. So there is no
array that one native call could fill. Here each call decodes one sample in the thread that makes it, and several
threads make calls. It costs Python for every image, and pixels that a crop would not have shown.

Nothing is allocated for an image larger than `max_pixels`: what a header states is not to be believed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from penstock.decode.batch import BatchDecoder, Decoded
from penstock.decode.clip import clip_shape, decode_clips
from penstock.errors import ImageError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from penstock.decode.batch import Encoded
    from penstock.decode.clip import ClipLayout
    from penstock.errors import PenstockError
    from penstock.types import Geometry

__all__ = ["EachDecoder"]

MAX_SIDE = 65535  # of what the native core makes


@final
class EachDecoder:
    """Decodes samples one by one in `threads` threads; 0: in the calling thread. May be called from several threads."""

    def __init__(self, threads: int, *, max_pixels: int) -> None:
        self._decoder = BatchDecoder(0, max_pixels=max_pixels)
        self._threads = ThreadPoolExecutor(threads, "penstock-decode") if threads else None  # starts none until needed
        self._max_pixels = max_pixels

    def decode(
        self,
        encoded: Encoded,
        geometries: Sequence[Geometry],
        *,
        channels_first: bool = True,
        clip_layout: ClipLayout | None = None,
        orientations: NDArray[np.uint8] | None = None,
        leave_out: Collection[int] = (),
    ) -> tuple[list[NDArray[np.uint8]], Decoded]:
        """Decode every sample by its own geometry: [C, H, W] each, or [H, W, C]; clips as `clip_layout` says.

        The pixels of a sample that fails, or that is left out, mean nothing.
        """
        one = partial(self._one, encoded, geometries, channels_first, clip_layout, orientations)
        positions = [position for position in range(len(encoded)) if position not in leave_out]
        # In a child process the executor would wait for threads that are not there; the decoder says what is wrong.
        run = map if self._threads is None or self._decoder.is_inherited else self._threads.map
        outcomes = dict(zip(positions, run(one, positions), strict=True))
        nothing = np.empty((0, 0, 0), np.uint8)
        pixels = [outcomes[at][0] if at in outcomes else nothing for at in range(len(encoded))]
        errors = {at: error for at, (_, error, _) in outcomes.items() if error is not None}
        return pixels, Decoded(errors, sum(warned for _, _, warned in outcomes.values()))

    def _one(
        self,
        encoded: Encoded,
        geometries: Sequence[Geometry],
        channels_first: bool,
        clip_layout: ClipLayout | None,
        orientations: NDArray[np.uint8] | None,
        position: int,
    ) -> tuple[NDArray[np.uint8], PenstockError | None, int]:
        geometry, part = geometries[position], slice(position, position + 1)
        encoded = encoded.part(part)
        width, height, channels = geometry.width, geometry.height, 1 if encoded.expected.is_mask else 3
        if width * height > self._max_pixels or max(width, height) > MAX_SIDE:
            got, expected = f"{width}x{height}", f"at most {self._max_pixels}, and {MAX_SIDE} each way"
            return np.empty((0, 0, 0), np.uint8), ImageError("too many pixels", got=got, expected=expected), 0
        if clip_layout is not None:
            out = np.empty((1, *clip_shape(clip_layout, encoded.expected.frames, height, width)), np.uint8)
            decoded = decode_clips(self._decoder, encoded, geometry, out, layout=clip_layout)
            return out[0], decoded.errors.get(0), decoded.warned
        out = np.empty((1, channels, height, width) if channels_first else (1, height, width, channels), np.uint8)
        decoded = self._decoder.decode(
            encoded,
            geometry,
            out,
            channels_first=channels_first,
            orientations=None if orientations is None else orientations[part],
        )
        return out[0], decoded.errors.get(0), decoded.warned

    def orientations(self, encoded: Encoded) -> NDArray[np.uint8]:
        """Read the EXIF orientation of every image, 1 where there is none."""
        return self._decoder.orientations(encoded)

    def close(self) -> None:
        """End the threads. Calls under way finish first."""
        self._decoder.close()
        if self._threads is not None and not self._decoder.is_inherited:
            self._threads.shutdown()
