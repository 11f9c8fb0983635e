"""Calling decode_batch from a test: a list of encoded images in, pixels and what became of each out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SENTINEL = 171  # what the output holds before the call: an untouched slot still holds it


@dataclass(frozen=True)
class Decoded:
    """What decode_batch gave."""

    pixels: NDArray[np.uint8]  # [n, H, W, C], whatever the layout asked for
    status: dict[int, int]  # by position, of samples where not all was well
    messages: dict[int, str]


def sizes_of(images: Sequence[bytes | NDArray[np.uint8]]) -> NDArray[np.int32]:
    """Width and height of each; (0, 0), which is not checked, where there is no header to read."""
    found = []
    for image in images:
        if isinstance(image, np.ndarray):
            found.append((image.shape[1], image.shape[0]))
            continue
        try:
            header = _native.probe(image)
        except ValueError:
            found.append((0, 0))
        else:
            found.append((header["width"], header["height"]))
    return np.array(found, np.int32).reshape(-1, 2)


def decode(
    images: Sequence[bytes | NDArray[np.uint8]],
    *,
    pool: _native.Pool | None = None,
    sizes: NDArray[np.int32] | None = None,
    regions: Sequence[Sequence[float]] | None = None,  # default: the whole image
    clips: Sequence[Sequence[int]] | None = None,  # default: the whole image
    flips: Sequence[int] | None = None,
    size: tuple[int, int] | None = None,  # width, height of the output; default: of the first clip
    channels: int = 3,
    channels_first: bool = False,
    frames: int | None = None,  # the images are those of clips with so many frames: channels first, frame by frame
    kinds: Sequence[int] | None = None,
    gap: int = 3,  # unused bytes between images, so that nothing is aligned by luck
    **options: Any,
) -> Decoded:
    """Decode images (JPEG bytes, or arrays of pixels) in one call, in a pool of no threads unless one is given."""
    blobs = [image.tobytes() if isinstance(image, np.ndarray) else image for image in images]
    lengths = np.array([len(blob) for blob in blobs], np.int64)
    offsets = np.cumsum(np.concatenate([[0], lengths[:-1] + gap])).astype(np.int64)
    block = np.full(int(offsets[-1] + lengths[-1]), 0xFF, np.uint8)
    for blob, offset in zip(blobs, offsets, strict=True):
        block[offset : offset + len(blob)] = np.frombuffer(blob, np.uint8)
    if kinds is None:
        kinds = [_native.PIXELS if isinstance(image, np.ndarray) else _native.JPEG for image in images]
    stated = sizes_of(images) if sizes is None else np.asarray(sizes, np.int32)
    if clips is None:
        clips = [(0, 0, int(w), int(h)) for w, h in stated]
    if regions is None:
        regions = clips
    if size is None:
        size = (int(clips[0][2] - clips[0][0]), int(clips[0][3] - clips[0][1]))
    shape = (channels, size[1], size[0]) if channels_first else (size[1], size[0], channels)
    out = np.full((len(images), *shape), SENTINEL, np.uint8)
    if frames is not None:
        channels_first = True
        out = np.full((-(-len(images) // frames), channels, frames, size[1], size[0]), SENTINEL, np.uint8)
    trouble = (pool or _native.Pool(0)).decode_batch(
        block,
        offsets,
        lengths,
        np.array(kinds, np.uint8),
        stated,
        np.array(regions, np.float64).reshape(-1, 4),
        np.array(clips, np.int32).reshape(-1, 4),
        np.array(flips if flips is not None else [0] * len(images), np.uint8),
        out,
        channels_first=channels_first,
        **options,
    )
    pixels = out.transpose(0, 2, 3, 1) if channels_first and frames is None else out
    if frames is not None:
        pixels = out.transpose(0, 2, 3, 4, 1).reshape(-1, size[1], size[0], channels)
    return Decoded(
        pixels,
        {position: status for position, status, _ in trouble},
        {position: message for position, _, message in trouble},
    )


def decode_one(image: bytes | NDArray[np.uint8], **options: Any) -> NDArray[np.uint8]:
    """Decode a single image that must decode without remark."""
    for name in ("regions", "clips"):
        if name in options:
            options[name] = [options[name]]
    if "flip" in options:
        options["flips"] = [options.pop("flip")]
    decoded = decode([image], **options)
    assert decoded.status == {}, decoded.messages
    return decoded.pixels[0]
