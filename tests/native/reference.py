"""The native core's slow twin: the same geometry in plain NumPy, written from its definition and from nothing else.

An output pixel's centre lies in the region at x0 + (i + 1/2) * scale. It mixes the source pixels of the clip around
that centre with a triangle as wide as one output pixel, and never narrower than one source pixel (so shrinking averages
and enlarging interpolates); the weights add up to one over the pixels that may be read. A centre outside the clip shows
the fill. This is Pillow's BILINEAR, which test_reference.py confirms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def weights(
    start: float, stop: float, count: int, first: int, last: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How much each source pixel of [first, last) counts in each output, and which outputs lie inside."""
    scale = (stop - start) / count
    support = max(abs(scale), 1.0)
    centres = start + (np.arange(count) + 0.5) * scale
    distance = np.abs(np.arange(first, last)[None, :] + 0.5 - centres[:, None]) / support
    triangle = np.clip(1 - distance, 0, None)
    inside = (centres >= first) & (centres < last)
    return triangle / np.maximum(triangle.sum(1, keepdims=True), 1e-12), inside


def resample(
    pixels: NDArray[np.uint8],
    region: Sequence[float],
    clip: Sequence[int],
    size: tuple[int, int],
    *,
    flip: bool = False,
    fill: int = 0,
) -> NDArray[np.float64]:
    """Antialiased bilinear resampling of height x width x channels pixels, unrounded."""
    (x0, y0, x1, y1), (left, top, right, bottom) = region, clip
    across, inside_x = weights(x0, x1, size[0], left, right)
    down, inside_y = weights(y0, y1, size[1], top, bottom)
    source = pixels[top:bottom, left:right].astype(np.float64)
    out = np.einsum("yj,xi,jic->yxc", down, across, source, optimize=True)
    out[~(inside_y[:, None] & inside_x[None, :])] = fill
    return out[:, ::-1] if flip else out


def nearest(
    pixels: NDArray[np.uint8],
    region: Sequence[float],
    clip: Sequence[int],
    size: tuple[int, int],
    *,
    flip: bool = False,
    fill: int = 0,
) -> NDArray[np.uint8]:
    """The source pixel under each output pixel's centre."""
    (x0, y0, x1, y1), (left, top, right, bottom) = region, clip
    xs = np.floor(x0 + (np.arange(size[0]) + 0.5) * (x1 - x0) / size[0]).astype(int)
    ys = np.floor(y0 + (np.arange(size[1]) + 0.5) * (y1 - y0) / size[1]).astype(int)
    out = pixels[np.clip(ys, top, bottom - 1)][:, np.clip(xs, left, right - 1)].copy()
    inside = ((ys >= top) & (ys < bottom))[:, None] & ((xs >= left) & (xs < right))[None, :]
    out[~inside] = fill
    return out[:, ::-1] if flip else out
