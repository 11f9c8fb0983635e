"""Images of any supported format through Pillow: the slow, careful twin of the native core, and its oracle.

The native core decodes ordinary JPEGs. PNG, WebP, BMP, TIFF, GIF and the kinds of JPEG that it hands on (CMYK, 12 bits)
come here. Three questions are answered: what is this (`probe_image`), which colours does it show (`decode_image`: what
`Image.convert("RGB")` gives, as torchvision does), which values does it store (`decode_mask`: palette positions or
grey values, untouched, because a mask's numbers are names of classes and not colours).

Rules: the format is found from the first bytes and never from a file name; only the formats listed are ever opened,
whatever else Pillow could; sizes are checked before pixels are allocated; every failure is an ImageError.
"""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, UnidentifiedImageError

from penstock.decode import jpeg
from penstock.errors import ImageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_PIXELS", "decode_image", "decode_mask", "orientation_of", "probe_image", "sniff"]

MAX_PIXELS = 178_956_970  # twice Pillow's own warning limit: 0.5 GB of RGB, beyond which a header is taken for a bomb
_ORIENTATION = 274  # the number of the EXIF tag

# How each format's bytes begin. WebP is a RIFF file: its name stands at byte 8.
SIGNATURES = (
    ("jpeg", b"\xff\xd8\xff"),
    ("png", b"\x89PNG\r\n\x1a\n"),
    ("gif", b"GIF8"),
    ("bmp", b"BM"),
    ("tiff", b"II*\x00"),
    ("tiff", b"MM\x00*"),
)

# What Pillow's readers raise at a header that is not what its signature promised.
UNREADABLE = (
    UnidentifiedImageError,
    OSError,
    ValueError,
    SyntaxError,
    LookupError,
    TypeError,
    OverflowError,
    struct.error,
)


def sniff(data: bytes | memoryview) -> str | None:
    """Name the image format from the first bytes; None where it is none that is supported."""
    start = bytes(data[:12])
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    return next((name for name, signature in SIGNATURES if start.startswith(signature)), None)


def probe_image(data: bytes | memoryview) -> tuple[str, int, int]:
    """Format, width and height of an image, from its header alone."""
    if sniff(data) == "jpeg":
        header = jpeg.probe(data)
        return "jpeg", header.width, header.height
    with _open(data, MAX_PIXELS) as image:
        return str(image.format).lower(), image.width, image.height


def orientation_of(data: bytes | memoryview, *, max_pixels: int = MAX_PIXELS) -> int:
    """Read the EXIF orientation, 1 … 8; 1 where there is none that makes sense.

    That of a TIFF is 1: Pillow has applied it whenever it decodes one, and states the size that it then has.
    """
    with _open(data, max_pixels) as image, _Explained(image):
        found = 1 if image.format == "TIFF" else image.getexif().get(_ORIENTATION, 1)
    return found if found in range(1, 9) else 1


def decode_image(data: bytes | memoryview, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Decode to [height, width, 3] uint8 RGB. Transparency is dropped, 16-bit grey keeps its upper eight bits."""
    with _open(data, max_pixels) as image, _Explained(image):
        if image.mode.startswith("I"):  # Pillow's own conversion would clip everything above 255 to white
            wide = np.asarray(image)
            if wide.size and (wide.min() < 0 or wide.max() > 0xFFFF):
                raise ImageError("the image's values need more than 16 bits", got=f"mode {image.mode}")
            return np.repeat((wide >> 8).astype(np.uint8)[:, :, None], 3, axis=2)
        if image.mode == "F":
            raise ImageError("floating-point images have no colours", expected="8 or 16 bits per channel")
        if image.mode in {"P", "LA", "PA"}:
            # By way of RGBA, since Pillow warns about transparent palettes that become RGB directly.
            return np.array(image.convert("RGBA").convert("RGB"))
        return np.array(image.convert("RGB"))


def decode_mask(data: bytes | memoryview, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Decode to [height, width, 1] uint8: palette positions or grey values exactly as they are stored."""
    with _open(data, max_pixels) as image, _Explained(image):
        if image.mode not in {"1", "L", "P"}:
            raise ImageError(
                "a mask has one channel of at most 8 bits",
                got=f"mode {image.mode}",
                expected="grey or palette",
                hint="store class numbers as an 8-bit grey or palette PNG",
            )
        return np.array(image).astype(np.uint8)[:, :, None]  # mode "1" comes as booleans: 0 and 1


def _open(data: bytes | memoryview, max_pixels: int) -> Image.Image:
    """Read the header with the one reader that the signature names, and refuse sizes that cannot be meant."""
    name = sniff(data)
    if name is None:
        raise ImageError(
            "not an image of a supported format",
            got=f"{len(data)} bytes beginning {bytes(data[:4]).hex(' ')}",
            expected="JPEG, PNG, WebP, BMP, TIFF or GIF",
        )
    try:
        image = Image.open(io.BytesIO(data), formats=[name.upper()])
    except Image.DecompressionBombError as error:
        raise ImageError(f"the {name} header states too many pixels: {error}") from error
    except UNREADABLE as error:
        raise ImageError(f"the {name} header cannot be read: {error}") from error
    if image.width * image.height > max_pixels:
        raise ImageError(
            f"the {name} header states too many pixels",
            got=f"{image.width}x{image.height}",
            expected=f"at most {max_pixels}",
        )
    return image


class _Explained:
    """Turns what Pillow raises while it decodes into an ImageError that names the format and size."""

    def __init__(self, image: Image.Image) -> None:
        self._what = f"{str(image.format).lower()} {image.width}x{image.height}"

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, (ImageError, MemoryError)):
            raise ImageError(f"the image cannot be decoded: {error}", got=self._what) from error
