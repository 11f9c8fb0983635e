"""Raw images: `.npy` members that hold uint8 pixels, [height, width, channels].

A `.npy` file is a short text header and then the pixels, so a raw image needs no decoding: the resampler can read its
pixels where they lie in the block. Three things are asked of the header, all of them for many samples at once:

- Where do the pixels start? At length - height * width * channels, since pixels are the rest of the file and the index
  knows the size.
- Is the header what that takes for granted (uint8, C order, this shape)? Headers repeat, one per size of image, so each
  distinct one is parsed once, strictly, and remembered.
- Which checksum must the *pixels* have? The index holds the checksum of header and pixels together, the resampler sees
  the pixels. CRCs are linear: crc(header + pixels) = shifted(crc(header)) ^ crc(pixels), where shifting means
  appending as many zero bytes as there are pixels. The shifted part is remembered with the header, so the checksum of
  the pixels costs one exclusive or per sample.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock import _native
from penstock.errors import ImageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HeaderBook", "decode_array", "probe_array"]

POLYNOMIAL = 0x82F63B78  # CRC-32C, bits reversed
MAX_HEADERS = 65_536  # remembered at most; each is a few hundred bytes
MAX_HEADER_BYTES = 4096  # NumPy writes 128


def probe_array(data: bytes | memoryview) -> tuple[int, int, int]:
    """Width, height and channels of a raw image, from its header."""
    shape, header_bytes = _parse(data)
    pixel_bytes = int(np.prod(shape))
    if len(data) != header_bytes + pixel_bytes:
        raise ImageError(
            "the .npy data has the wrong length",
            got=len(data) - header_bytes,
            expected=f"{pixel_bytes} for shape {shape}",
        )
    return shape[1], shape[0], shape[2]


def decode_array(data: bytes | memoryview) -> NDArray[np.uint8]:
    """Give a raw image as [height, width, channels] uint8: a view of the data."""
    width, height, channels = probe_array(data)
    return np.frombuffer(data, np.uint8)[len(data) - width * height * channels :].reshape(height, width, channels)


def _parse(data: bytes | memoryview) -> tuple[tuple[int, int, int], int]:
    """Shape and length of a header, which must be of what we write."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(stream)
    except ValueError as error:
        raise ImageError(f"not a .npy file: {error}") from error
    given: tuple[Any, ...] = (*shape, 1) if len(shape) == 2 else shape
    if dtype != np.uint8 or is_fortran or len(given) != 3 or given[2] not in {1, 3} or 0 in given:
        raise ImageError(
            "the .npy data is no image",
            got=f"{dtype} {shape}{', Fortran order' if is_fortran else ''}",
            expected="uint8, C order, (height, width, 3) or (height, width)",
        )
    return (given[0], given[1], given[2]), stream.tell()


@final
@dataclass(frozen=True, slots=True)
class _Known:
    """A header seen before: its shape, and what it adds to the checksum of everything after it."""

    shape: tuple[int, int, int]
    checksum_shift: int


@final
class HeaderBook:
    """Checks headers of raw images and finds their pixels; remembers every header that it has seen."""

    def __init__(self, channels: int) -> None:
        self._channels = channels
        self._known: dict[bytes, _Known] = {}

    def pixels(
        self,
        block: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int64],
        widths: NDArray[np.int32],
        heights: NDArray[np.int32],
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], dict[int, ImageError]]:
        """Give the header's length and checksum part for each sample, and what is wrong with some, by position."""
        header_bytes = lengths - widths.astype(np.int64) * heights * self._channels
        parts = np.zeros(len(offsets), np.uint32)
        errors: dict[int, ImageError] = {}
        for size in np.unique(header_bytes).tolist():
            positions = np.flatnonzero(header_bytes == size)
            if not 0 < size <= MAX_HEADER_BYTES:
                error = f"the .npy data has {size} bytes beyond its pixels, where a header is expected"
                errors.update((position, ImageError(error)) for position in positions.tolist())
                continue
            rows = block[offsets[positions, None] + np.arange(size)]
            for position, header in zip(positions.tolist(), rows.view(f"V{size}").ravel().tolist(), strict=True):
                part = self._part(header, (int(heights[position]), int(widths[position]), self._channels))
                if isinstance(part, ImageError):
                    errors[position] = part
                else:
                    parts[position] = part
        return header_bytes, parts, errors

    def _part(self, header: bytes, expected: tuple[int, int, int]) -> int | ImageError:
        """Give a header's part of the checksum, or what is wrong with the header."""
        known = self._known.get(header)
        if known is None:
            try:
                shape, size = _parse(header)
            except ImageError as error:
                return error
            if size != len(header):
                return ImageError("the .npy header has not the length that remains", got=size, expected=len(header))
            if len(self._known) >= MAX_HEADERS:
                self._known.clear()
            known = _Known(shape, append_zeros(_native.crc32c(header), int(np.prod(shape))))
            self._known[header] = known
        if known.shape != expected:
            return ImageError("the .npy header states another shape", got=known.shape, expected=expected)
        return known.checksum_shift


def append_zeros(checksum: int, count: int) -> int:
    """Turn the checksum of some data into what it contributes to that of the data and `count` more bytes."""
    power = 0
    while count:
        if count & 1:
            checksum = _times(_zero_bytes(power), checksum)
        count >>= 1
        power += 1
    return checksum


@lru_cache(maxsize=64)
def _zero_bytes(power: int) -> tuple[int, ...]:
    """Give the operator that appends 2**power zero bytes, as the 32 images of the single bits."""
    if power == 0:
        operator = tuple((bit >> 8) ^ _byte_step(bit & 0xFF) for bit in (1 << position for position in range(32)))
    else:
        half = _zero_bytes(power - 1)
        operator = tuple(_times(half, image) for image in half)
    return operator


def _byte_step(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


def _times(operator: tuple[int, ...], bits: int) -> int:
    image = 0
    for position in range(32):
        if bits >> position & 1:
            image ^= operator[position]
    return image
