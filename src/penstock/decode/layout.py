"""Layouts: in which order a sample's axes lie in memory, and decoding into each.

    CHW    [B, C, H, W]      images, plane by plane
    HWC    [B, H, W, C]      images, pixel by pixel
    CTHW   [B, C, T, H, W]   clips; the planes of a frame lie apart, and the native core finds its way by the shape
    TCHW   [B, T, C, H, W]   clips: a batch of B * T images
    THWC   [B, T, H, W, C]   the same, pixel by pixel

The frames of a batch are decoded as images are, all of them in one native call, each straight into its place. A clip's
geometry is that of all its frames. A sample fails with any of its frames: its error is that of the first such frame,
and says which of those that are shown that is, counted from 0.
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

__all__ = ["Layout", "channel_axis", "decode_into", "shape_of"]

Layout = Literal["CHW", "HWC", "CTHW", "TCHW", "THWC"]


def shape_of(layout: Layout, *, channels: int, height: int, width: int, frames: int = 1) -> tuple[int, ...]:
    """Give the shape of one sample."""
    sides = {"C": channels, "T": frames, "H": height, "W": width}
    return tuple(sides[axis] for axis in layout)


def channel_axis(layout: Layout) -> int:
    """Say which axis holds the channels, counted from the end: that is the same for a sample and a batch."""
    return layout.index("C") - len(layout)


def decode_into(
    decoder: BatchDecoder,
    encoded: Encoded,
    geometry: Geometry,
    out: NDArray[np.uint8],
    *,
    layout: Layout,
    orientations: NDArray[np.uint8] | None = None,
    leave_out: Collection[int] = (),
) -> Decoded:
    """Decode every sample into its slot of `out`. Geometry, orientations and errors are by sample, of clips, too.

    Samples to `leave_out`, by position, have no bytes worth decoding; their slots are left alone.
    """
    first = not layout.endswith("C")
    if "T" not in layout:
        return decoder.decode(
            encoded, geometry, out, channels_first=first, orientations=orientations, leave_out=leave_out
        )
    frames = encoded.expected.frames
    of_frames = replace(
        geometry,
        regions=np.repeat(geometry.regions, frames, axis=0),
        clips=np.repeat(geometry.clips, frames, axis=0),
        flips=np.repeat(geometry.flips, frames),
    )
    decoded = decoder.decode(
        encoded,
        of_frames,
        out if layout == "CTHW" else out.reshape(-1, *out.shape[2:]),
        channels_first=first,
        orientations=None if orientations is None else np.repeat(orientations, frames),
        leave_out=[sample * frames + frame for sample in leave_out for frame in range(frames)],
    )
    errors: dict[int, PenstockError] = {}
    for image in sorted(decoded.errors):
        sample, frame = divmod(image, frames)
        if sample not in errors:
            errors[sample] = decoded.errors[image]
            errors[sample].frame = frame
    return Decoded(errors, frozenset(image // frames for image in decoded.warned) - errors.keys())
