"""What a picture becomes when it is stored.

Whatever is stored is known to be decodable: tiling reads every coefficient of a JPEG, everything else is decoded here
once. What may happen to an image (the outcome):

    tiled        a JPEG, rewritten losslessly so that crops can be decoded alone
    kept         stored byte for byte: another format, a JPEG that cannot be tiled, or all of them on request
    re-encoded   made smaller on purpose, or a frame that was no JPEG
    decoded      stored as pixels on request

A clip is its frames one after another. All are JPEGs and of one size: then one crop serves them, and one call decodes
them. What happened to most of its frames is said of the clip.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.decode import jpeg
from penstock.decode.image import decode_image, decode_mask, probe_image
from penstock.errors import ImageError
from penstock.ingest.reencode import DEFAULT_QUALITY, encode_jpeg, encode_npy, encode_png, pixels_of
from penstock.types import StoredField

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from penstock.ingest.recipe import Recipe

__all__ = ["DECODED", "KEPT", "REENCODED", "TILED", "Stored", "stored_clip", "stored_image", "stored_mask"]

TILED = "tiled"
KEPT = "kept"
REENCODED = "re-encoded"
DECODED = "decoded"


@dataclass(frozen=True, slots=True)
class Stored:
    """A field as it is stored, and how it came to that."""

    field: StoredField
    outcome: str
    why: str = ""  # why it was kept


def stored_image(data: bytes, recipe: Recipe) -> Stored:
    """Store an image."""
    format_, width, height = probe_image(data)
    if recipe.raw:
        return Stored(_as_npy(pixels_of(data, recipe.fitted(width, height), is_mask=False)), DECODED)
    if recipe.reencodes(width, height):
        return _again(data, recipe.fitted(width, height), recipe.quality)
    why = "as asked" if recipe.keep_bytes else format_
    if format_ == "jpeg" and not recipe.keep_bytes:
        tiled = jpeg.tile(data)
        if tiled.is_tiled:
            return Stored(StoredField(tiled.data, format_, width, height), TILED)
        why = tiled.outcome
    decode_image(data)  # raises where the file breaks off or cannot be decoded by any reader here
    return Stored(StoredField(data, format_, width, height), KEPT, why)


def stored_mask(data: bytes, recipe: Recipe) -> Stored:
    """Store a mask: its values are never mixed."""
    format_, width, height = probe_image(data)
    size = recipe.fitted(width, height)
    if recipe.raw:
        return Stored(_as_npy(pixels_of(data, size, is_mask=True)), DECODED)
    if size != (width, height):
        return Stored(StoredField(encode_png(pixels_of(data, size, is_mask=True)), "png", *size), REENCODED)
    decode_mask(data)
    return Stored(StoredField(data, format_, width, height), KEPT, format_)


def stored_clip(frames: Sequence[bytes], recipe: Recipe) -> Stored:
    """Store a clip."""
    if not frames:
        raise ImageError("the clip has no frames")
    found = []
    for number, data in enumerate(frames):
        try:
            one = stored_image(data, recipe)
            if one.field.format != "jpeg":
                one = _again(data, (one.field.width, one.field.height), recipe.quality)
        except ImageError as error:
            error.what = f"frame {number}: {error.what}"
            raise
        found.append(one)
    sizes = Counter((one.field.width, one.field.height) for one in found)
    if len(sizes) > 1:
        got = " and ".join(f"{width}x{height}" for width, height in sorted(sizes))
        raise ImageError("the frames' sizes differ", got=got, expected="one size")
    ((width, height),) = sizes
    ((outcome, why),) = (what for what, _ in Counter((one.outcome, one.why) for one in found).most_common(1))
    data = b"".join(one.field.data for one in found)
    lengths = tuple(len(one.field.data) for one in found)
    return Stored(StoredField(data, "mjpeg", width, height, lengths), outcome, why)


def _again(data: bytes, size: tuple[int, int], quality: int | None) -> Stored:
    again = encode_jpeg(pixels_of(data, size, is_mask=False), quality or DEFAULT_QUALITY, data)
    return Stored(StoredField(jpeg.tile(again).data, "jpeg", *size), REENCODED)


def _as_npy(pixels: NDArray[np.uint8]) -> StoredField:
    return StoredField(encode_npy(pixels), "npy", pixels.shape[1], pixels.shape[0])
