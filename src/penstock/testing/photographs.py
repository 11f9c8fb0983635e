"""Sample data: photo-like JPEGs from nothing but NumPy and Pillow, the same for the same seed.

The cost of decoding a JPEG follows its entropy, so random pixels (far too much) or plain shapes (far too little) would
make every speed measured on them fiction. A photograph has, roughly: a slowly varying light, edges between surfaces, a
texture whose amplitude falls as 1/frequency, and a little sensor noise. `photo` draws these four, and at quality 90 and
4:2:0 a 500x375 image comes to about 80 KB, as in ImageNet.

Textures are the dear part (a Fourier transform), so a few large ones are made once and each image takes a random piece.
Every image has a random stream of its own, keyed by (seed, number): any image can be made alone, in any order.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["jpeg", "photo", "write_photos"]

TEXTURES = 4
TEXTURE_SIDE = 1280
# Sizes as they occur in ImageNet: mostly 500 on the long side, either way up, with some others between.
SIZES = ((500, 375),) * 6 + ((375, 500),) * 2 + ((500, 333),) * 2 + ((500, 500), (640, 480), (400, 300), (800, 600))


@lru_cache(maxsize=TEXTURES * 2)
def _texture(seed: int, number: int) -> NDArray[np.float32]:
    """Make a square of 1/f noise with standard deviation 1."""
    draws = np.random.default_rng((seed, number, 1))
    spectrum = np.fft.rfft2(draws.standard_normal((TEXTURE_SIDE, TEXTURE_SIDE), dtype=np.float32))
    rows = np.fft.fftfreq(TEXTURE_SIDE)[:, None]
    columns = np.fft.rfftfreq(TEXTURE_SIDE)[None, :]
    # Below about 6 periods per square the light gradient takes over; without the floor one blotch would fill an image.
    frequency = np.maximum(np.hypot(rows, columns), 6 / TEXTURE_SIDE)
    surface = np.fft.irfft2(spectrum / frequency, s=(TEXTURE_SIDE, TEXTURE_SIDE)).astype(np.float32)
    scaled: NDArray[np.float32] = (surface - surface.mean()) / surface.std()
    return scaled


def _light(draws: np.random.Generator, width: int, height: int) -> Image.Image:
    """Draw a smooth colour gradient: a 3x3 grid of related colours, magnified."""
    base = draws.uniform(60, 190, 3)
    grid = base + draws.normal(0, 32, (3, 3, 1)) + draws.normal(0, 14, (3, 3, 3))
    small = Image.fromarray(np.clip(grid, 5, 250).astype(np.uint8))
    return small.resize((width, height), Image.Resampling.BICUBIC)


def _shapes(draws: np.random.Generator, image: Image.Image) -> None:
    """Draw surfaces with edges: ellipses and polygons of colours near each other."""
    pen = ImageDraw.Draw(image)
    width, height = image.size
    for _ in range(int(draws.integers(4, 12))):
        colour = tuple(int(level) for level in np.clip(draws.uniform(25, 230) + draws.normal(0, 28, 3), 0, 255))
        x, y = draws.uniform(0, width), draws.uniform(0, height)
        reach = draws.uniform(0.04, 0.35) * width
        if draws.random() < 0.5:
            aspect = draws.uniform(0.4, 1.6)
            pen.ellipse([x - reach, y - reach * aspect, x + reach, y + reach * aspect], fill=colour)
        else:
            angles = np.sort(draws.uniform(0, 2 * np.pi, int(draws.integers(3, 8))))
            radii = reach * draws.uniform(0.5, 1.3, len(angles))
            points = zip(x + radii * np.cos(angles), y + radii * np.sin(angles), strict=True)
            pen.polygon([(float(a), float(b)) for a, b in points], fill=colour)


def photo(number: int, *, seed: int = 0, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """Draw photo-like image `number` of the set `seed` as height x width x 3 uint8; `size` is (width, height)."""
    draws = np.random.default_rng((seed, number))
    width, height = SIZES[int(draws.integers(len(SIZES)))] if size is None else size
    if not (0 < width <= TEXTURE_SIDE and 0 < height <= TEXTURE_SIDE):
        raise UsageError("sample image size", got=f"{width}x{height}", expected=f"1 to {TEXTURE_SIDE} each way")
    image = _light(draws, width, height)
    _shapes(draws, image)
    pixels = np.asarray(image, np.float32)
    surface = _texture(seed, int(draws.integers(TEXTURES)))
    y, x = (int(draws.integers(TEXTURE_SIDE - side + 1)) for side in (height, width))
    contrast = np.float32(draws.uniform(10, 26))
    tint = draws.uniform(0.75, 1.25, 3).astype(np.float32)
    noise = draws.standard_normal((height, width, 3), dtype=np.float32)
    noise *= np.float32(draws.uniform(3, 8))
    noise += surface[y : y + height, x : x + width, None] * (contrast * tint)
    noise += pixels
    return np.clip(noise, 0, 255).astype(np.uint8)


def jpeg(
    number: int, *, seed: int = 0, size: tuple[int, int] | None = None, quality: int | None = None, subsampling: int = 2
) -> bytes:
    """Encode photo-like image `number`; quality 87 to 93 by turns unless given; subsampling 2 is 4:2:0, 0 is 4:4:4."""
    buffer = BytesIO()
    image = Image.fromarray(photo(number, seed=seed, size=size))
    image.save(buffer, "JPEG", quality=87 + number % 7 if quality is None else quality, subsampling=subsampling)
    return buffer.getvalue()


def write_photos(
    out: str | os.PathLike[str],
    *,
    count: int = 1500,
    seed: int = 0,
    classes: int = 10,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write `count` JPEGs into `classes` folders below `out` and return the bytes written.

    `progress` is called with 1 per image. The folder must be new or empty, so that no foreign file joins the set.
    """
    folder = Path(out)
    if count < 1 or classes < 1:
        raise UsageError("sample set", got=f"{count} images, {classes} classes", expected="at least one of each")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError("folder is not empty", file=str(folder), hint="give another folder, or empty this one first")
    for label in range(min(classes, count)):
        (folder / f"class_{label:03d}").mkdir(parents=True, exist_ok=True)
    for number in range(TEXTURES):  # before the threads start, or each would make its own
        _texture(seed, number)

    def write(number: int) -> int:
        data = jpeg(number, seed=seed)
        (folder / f"class_{number % classes:03d}" / f"photo_{number:06d}.jpg").write_bytes(data)
        if progress is not None:
            progress(1)
        return len(data)

    # Threads: NumPy's generators and Pillow's encoder leave the interpreter lock alone most of the time.
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return sum(pool.map(write, range(count)))
