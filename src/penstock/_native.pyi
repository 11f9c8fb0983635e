"""The native core: hot loops only. Calls that do real work release the GIL and write into the caller's memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

# What decode_batch finds at a position of the block.
JPEG: int  # an encoded JPEG
PIXELS: int  # height × width × channels uint8 pixels, channels being the output's
ABSENT: int  # nothing: the slot is left alone for the caller

# What became of a sample (absent from decode_batch's list when all was well).
WARNED: int  # pixels were delivered, libjpeg-turbo warned about the data
BROKEN: int  # no pixels: the data cannot be decoded
UNSUPPORTED: int  # no pixels: a kind of JPEG left to Pillow (CMYK, YCCK, 12 bits)
CHECKSUM: int  # no pixels: the bytes do not match their checksum
MISMATCH: int  # no pixels: the header's size is not the size the caller stated

SIMD: str  # the instruction set in use: "avx2", or "scalar"

class Pool:
    """Threads that decode. Calls may come from several threads at once; they are served in order of arrival."""

    def __init__(self, threads: int) -> None: ...  # 0: decode in the calling thread
    @property
    def threads(self) -> int: ...
    def close(self) -> None: ...
    def decode_batch(
        self,
        block: NDArray[np.uint8],  # 1-D, holds all encoded bytes
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int64],
        kinds: NDArray[np.uint8],  # JPEG, PIXELS or ABSENT
        sizes: NDArray[np.int32],  # [n, 2] width, height; (0, 0) is not checked (JPEG only)
        regions: NDArray[np.float64],  # [n, 4] x0, y0, x1, y1: the source area that the output shows
        clips: NDArray[np.int32],  # [n, 4] x0, y0, x1, y1: the pixels that may be read
        flips: NDArray[np.uint8],  # 1: mirrored left to right
        # [n, C, H, W], or [n, H, W, C] with channels_first=False; C = 3 (or 1, PIXELS only). A batch of clips may be
        # [clips, C, T, H, W]: then the samples are the frames of the first clip, those of the second, …
        out: NDArray[np.uint8],
        *,
        checksums: NDArray[np.uint32] | None = None,
        orientations: NDArray[np.uint8] | None = None,  # EXIF 1 … 8, applied before everything else
        channels_first: bool = True,
        nearest: bool = False,  # for masks: no mixing of values
        fill: int = 0,  # where an output pixel's centre lies outside the clip
        max_pixels: int = 178_956_970,
        scaling: bool = True,  # decode at 1/2, 1/4, 1/8 where that cannot be seen
    ) -> list[tuple[int, int, str]]: ...  # (position, status, message)

ORDINARY: int
EXACT: int
GENEROUS: int
DIRECT: int

def probe(data: Buffer) -> dict[str, Any]:
    """Read a JPEG's header: width, height, components, precision, process, sampling, restart_interval, orientation.

    `process` is "baseline", "extended", "progressive", "arithmetic", "lossless" or
    "hierarchical". ValueError: not a JPEG, or no frame
    header in the data.
    """

def tile_jpeg(data: Buffer) -> tuple[bytes, str]:
    """Rewrite a JPEG losslessly as tiles; (new bytes, "tiled"), or (the same bytes, why not)."""

def crc32c(data: Buffer, value: int = 0) -> int: ...
def read_ranges(
    paths: Sequence[bytes],
    files: NDArray[np.int32],  # per range: a position in paths; runs of the same file are opened once
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    block: NDArray[np.uint8],
    positions: NDArray[np.int64],  # per range: where in the block it goes
    ways: NDArray[np.uint8],  # per range: ORDINARY, EXACT, GENEROUS or DIRECT, see native/read.hpp
) -> list[tuple[int, int, int]]:  # (range, errno, bytes read) of those that failed; errno 0: the file ended early
    ...
