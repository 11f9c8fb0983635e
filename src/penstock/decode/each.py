"""The decoder for images that keep sizes of their own: each sample in a call by itself, into an array by itself.

A batch has no common shape where the transform that fixes the size is not ours and runs after decoding. So there is no
array that one native call could fill. Here each call decodes one sample in the thread that makes it, and several
threads make calls. It costs Python for every image, and pixels that a crop would not have shown.

Nothing is allocated for an image larger than `max_pixels`: what a header states is not to be believed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, final

import numpy as np

from penstock.decode.batch import BatchDecoder, Decoded
from penstock.decode.layout import decode_into, shape_of
from penstock.errors import ImageError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from penstock.decode.batch import Encoded
    from penstock.decode.layout import Layout
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
        layout: Layout = "CHW",
        orientations: NDArray[np.uint8] | None = None,
        leave_out: Collection[int] = (),
    ) -> tuple[list[NDArray[np.uint8]], Decoded]:
        """Decode every sample by its own geometry, into an array of its own.

        The pixels of a sample that fails, or that is left out, mean nothing.
        """

        def one(position: int) -> tuple[NDArray[np.uint8], PenstockError | None, bool]:
            part = slice(position, position + 1)
            turned = None if orientations is None else orientations[part]
            return self._one(encoded.part(part), geometries[position], layout, turned)

        positions = [position for position in range(len(encoded)) if position not in leave_out]
        # In a child process the executor would wait for threads that are not there; the decoder says what is wrong.
        run = map if self._threads is None or self._decoder.is_inherited else self._threads.map
        outcomes = dict(zip(positions, run(one, positions), strict=True))
        nothing = np.empty((0, 0, 0), np.uint8)
        pixels = [outcomes[at][0] if at in outcomes else nothing for at in range(len(encoded))]
        errors = {at: error for at, (_, error, _) in outcomes.items() if error is not None}
        return pixels, Decoded(errors, frozenset(at for at, (_, _, warned) in outcomes.items() if warned))

    def _one(
        self,
        encoded: Encoded,
        geometry: Geometry,
        layout: Layout,
        orientations: NDArray[np.uint8] | None,
    ) -> tuple[NDArray[np.uint8], PenstockError | None, bool]:
        width, height, channels = geometry.width, geometry.height, 1 if encoded.expected.is_mask else 3
        if width * height > self._max_pixels or max(width, height) > MAX_SIDE:
            got, expected = f"{width}x{height}", f"at most {self._max_pixels}, and {MAX_SIDE} each way"
            return np.empty((0, 0, 0), np.uint8), ImageError("too many pixels", got=got, expected=expected), False
        shape = shape_of(layout, channels=channels, height=height, width=width, frames=encoded.expected.frames)
        out = np.empty((1, *shape), np.uint8)
        decoded = decode_into(self._decoder, encoded, geometry, out, layout=layout, orientations=orientations)
        return out[0], decoded.errors.get(0), bool(decoded.warned)

    def orientations(self, encoded: Encoded) -> NDArray[np.uint8]:
        """Read the EXIF orientation of every image, 1 where there is none."""
        return self._decoder.orientations(encoded)

    def close(self) -> None:
        """End the threads. Calls under way finish first."""
        self._decoder.close()
        if self._threads is not None and not self._decoder.is_inherited:
            self._threads.shutdown()
