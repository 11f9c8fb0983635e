"""Clips: the frames of a batch are decoded as images are, all of them in one native call, each straight into its place.

A clip's geometry is that of all its frames. What differs from a batch of images is where the frames go:

    CTHW   [B, C, T, H, W]   the planes of a frame lie apart: the native core is told the shape and finds its way
    TCHW   [B, T, C, H, W]   a batch of B * T images
    THWC   [B, T, H, W, C]   the same, channels last

and that a sample fails with any of its frames. Its error is that of the first such frame, and counts it from 0 among
those that are shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from penstock.decode.batch import Decoded

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from penstock.decode.batch import BatchDecoder, Encoded
    from penstock.errors import PenstockError
    from penstock.types import Geometry

__all__ = ["CHANNEL_AXIS", "ClipLayout", "clip_shape", "decode_clips"]

ClipLayout = Literal["CTHW", "TCHW", "THWC"]

CHANNEL_AXIS: dict[ClipLayout, int] = {"CTHW": -4, "TCHW": -3, "THWC": -1}  # from the end: the same for one and many


def clip_shape(layout: ClipLayout, frames: int, height: int, width: int) -> tuple[int, ...]:
    """Give the shape of one clip."""
    sides = {"C": 3, "T": frames, "H": height, "W": width}
    return tuple(sides[axis] for axis in layout)


def decode_clips(
    decoder: BatchDecoder,
    encoded: Encoded,
    geometry: Geometry,
    out: NDArray[np.uint8],
    *,
    layout: ClipLayout,
    leave_out: Collection[int] = (),
) -> Decoded:
    """Decode every sample's frames into its slot of `out`, whose samples are laid out so. Geometry is by sample.

    Samples to `leave_out`, by position, have no bytes worth decoding; their slots are left alone.
    """
    frames = encoded.expected.frames
    by_frame = replace(
        geometry,
        regions=np.repeat(geometry.regions, frames, axis=0),
        clips=np.repeat(geometry.clips, frames, axis=0),
        flips=np.repeat(geometry.flips, frames),
    )
    decoded = decoder.decode(
        encoded,
        by_frame,
        out if layout == "CTHW" else out.reshape(-1, *out.shape[2:]),
        channels_first=layout != "THWC",
        leave_out=[sample * frames + frame for sample in leave_out for frame in range(frames)],
    )
    errors: dict[int, PenstockError] = {}
    for image in sorted(decoded.errors):
        sample, frame = divmod(image, frames)
        if sample not in errors:
            errors[sample] = decoded.errors[image]
            errors[sample].frame = frame
    return Decoded(errors, decoded.warned)
