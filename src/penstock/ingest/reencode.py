"""Makes images smaller on purpose: scaled down, encoded again as JPEG.

This is the one lossy step of packing, and it happens only where it was asked for. EXIF data and colour profiles of a
JPEG are carried over, because orientation and colours mean nothing without them.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from penstock.decode.image import decode_image, decode_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEFAULT_QUALITY", "encode_jpeg", "encode_npy", "encode_pixels", "encode_png", "pixels_of"]

DEFAULT_QUALITY = 90


def pixels_of(data: bytes, size: tuple[int, int], *, is_mask: bool) -> NDArray[np.uint8]:
    """Decode and scale to a size: [height, width, channels]. A mask keeps its values, so they are never mixed."""
    pixels = decode_mask(data) if is_mask else decode_image(data)
    if (pixels.shape[1], pixels.shape[0]) == size:
        return pixels
    image = Image.fromarray(pixels[:, :, 0] if is_mask else pixels)
    resized = np.asarray(image.resize(size, Image.Resampling.NEAREST if is_mask else Image.Resampling.LANCZOS))
    return resized[:, :, None] if is_mask else resized


def encode_jpeg(pixels: NDArray[np.uint8], quality: int, origin: bytes) -> bytes:
    """Encode RGB pixels; metadata comes from the file they were decoded from."""
    kept: dict[str, Any] = {}
    with Image.open(io.BytesIO(origin)) as image:
        if image.format == "JPEG":
            # The profile of a CMYK image says nothing about the RGB pixels that it was turned into.
            names = ("exif", "icc_profile") if image.mode in {"RGB", "L"} else ("exif",)
            kept = {name: image.info[name] for name in names if name in image.info}
    return encode_pixels(pixels, quality, **kept)


def encode_pixels(pixels: NDArray[np.uint8], quality: int, **metadata: Any) -> bytes:
    """Encode RGB pixels."""
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "JPEG", quality=quality, **metadata)
    return sink.getvalue()


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode pixels of one or three channels losslessly."""
    sink = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(sink, "PNG")
    return sink.getvalue()


def encode_npy(pixels: NDArray[np.uint8]) -> bytes:
    """Give [height, width, channels] pixels as a file of NumPy's format 1.0."""
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.ascontiguousarray(pixels), version=(1, 0), allow_pickle=False)
    return sink.getvalue()
