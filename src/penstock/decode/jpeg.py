"""JPEG headers and tiles: the two questions that packing asks of a JPEG, answered by the native core.

`probe` reads a header without decoding anything. `tile` rewrites a JPEG losslessly so that a restart marker starts a
new tile every few MCUs; a reader can then decode the tiles that a crop touches and leave the others alone. Where a
JPEG cannot be tiled (CMYK, 12 bits, damaged, …) its own bytes come back with the reason: packing stores it as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock import _native
from penstock.errors import ImageError

__all__ = ["JpegInfo", "Tiled", "probe", "tile"]

TILED = "tiled"  # the outcome of a rewrite that worked; any other text is the reason why not


@dataclass(frozen=True, slots=True)
class JpegInfo:
    """What a JPEG's header says."""

    width: int
    height: int
    components: int  # 1 grey, 3 colour, 4 CMYK or YCCK
    precision: int  # bits per component
    process: str  # "baseline", "extended", "progressive", "arithmetic" or "lossless"
    sampling: Any  # chroma sampling as the native core names it
    restart_interval: int  # MCUs from one restart marker to the next; 0: no markers
    orientation: int  # EXIF 1 … 8; 1: as stored


@dataclass(frozen=True, slots=True)
class Tiled:
    """A JPEG after tiling: the bytes to store, and what was done to them."""

    data: bytes
    outcome: str

    @property
    def is_tiled(self) -> bool:
        """Whether the bytes were rewritten; if not, `outcome` is the reason and `data` the original."""
        return self.outcome == TILED

    def __repr__(self) -> str:
        return f"Tiled({self.outcome}, {len(self.data)} bytes)"


def probe(data: bytes | bytearray | memoryview) -> JpegInfo:
    """Read a JPEG's header; ImageError where it is no JPEG or has no frame header."""
    try:
        header = _native.probe(data)
    except ValueError as error:
        raise ImageError(
            f"not a readable JPEG header: {error}", got=f"{len(data)} bytes beginning {bytes(data[:4]).hex(' ')}"
        ) from error
    return JpegInfo(**{name: header[name] for name in JpegInfo.__slots__})


def tile(data: bytes | bytearray | memoryview) -> Tiled:
    """Rewrite a JPEG losslessly as tiles, or hand back its own bytes with the reason why that cannot be."""
    return Tiled(*_native.tile_jpeg(data))
