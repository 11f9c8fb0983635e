"""Images that the tests make for themselves: like photographs where it matters to a codec, the same on every machine.

A photograph is smooth nearly everywhere, has edges between things, texture inside them and noise over all; its colour
changes more slowly than its light. `photo` makes pixels of that kind from a seed. `jpeg` encodes them with Pillow,
`cjpeg` with libjpeg-turbo's own tool, which knows every chroma mode, arithmetic coding and any restart interval.

`photograph` is a real one: scikit-learn brings two along. Its files are found without importing it.
"""

from __future__ import annotations

import io
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# cjpeg's luma sampling factors (horizontal x vertical) by the usual name of the mode.
SAMPLING = {"4:4:4": "1x1", "4:2:2": "2x1", "4:2:0": "2x2", "4:4:0": "1x2", "4:1:1": "4x1"}


def photo(width: int, height: int, *, seed: int = 0, noise: float = 2.0) -> NDArray[np.uint8]:
    """A photo-like image, height x width x 3."""
    random = np.random.default_rng([seed, width, height])
    light = np.full((height, width), 110.0)
    colour = np.zeros((height, width, 2))
    for octave in range(1, 7):
        cells = 2**octave
        light += _smooth(random, width, height, cells) * 90 / cells**0.8
        if octave <= 3:
            colour += np.stack([_smooth(random, width, height, cells) for _ in range(2)], axis=2) * 60 / cells**0.5
    y, x = np.mgrid[0:height, 0:width]
    for _ in range(6):  # things with an outline: half planes inside discs
        cx, cy, radius = (
            random.uniform(0, width),
            random.uniform(0, height),
            random.uniform(0.1, 0.4) * max(width, height),
        )
        angle, shade = random.uniform(0, 2 * np.pi), random.uniform(-50, 50)
        inside = (np.hypot(x - cx, y - cy) < radius) & ((x - cx) * np.cos(angle) + (y - cy) * np.sin(angle) > 0)
        light[inside] += shade + 8 * np.sin((x + 2 * y)[inside] * random.uniform(0.2, 1.2))  # and a texture of its own
        colour[inside] += random.uniform(-25, 25, 2)
    light += random.normal(0, noise, light.shape)
    blue, red = colour[..., 0], colour[..., 1]
    pixels = np.stack([light + 1.402 * red, light - 0.344 * blue - 0.714 * red, light + 1.772 * blue], axis=2)
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def photograph(name: str) -> bytes:
    """The JPEG of a real photograph, "china" or "flower", 640x427."""
    spec = find_spec("sklearn")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / "datasets" / "images" / f"{name}.jpg").read_bytes()


def _smooth(random: np.random.Generator, width: int, height: int, cells: int) -> NDArray[np.float32]:
    """Random values on a coarse grid, interpolated."""
    grid = Image.fromarray(random.normal(0, 1, (cells + 1, cells + 1)).astype(np.float32))
    return np.asarray(grid.resize((width, height), Image.Resampling.BICUBIC))


def jpeg(pixels: NDArray[np.uint8], *, quality: int = 90, **options: Any) -> bytes:
    """The pixels as a JPEG written by Pillow (options: subsampling, progressive, exif, icc_profile, comment, …)."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=quality, **options)
    return out.getvalue()


def png(pixels: NDArray[np.uint8]) -> bytes:
    """The pixels as a PNG."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def cjpeg(
    pixels: NDArray[np.uint8], *, sampling: str = "4:2:0", quality: int = 90, options: Sequence[str] = ()
) -> bytes:
    """The pixels as a JPEG written by libjpeg-turbo's cjpeg; two-dimensional pixels become a grey one."""
    grey = pixels.ndim == 2
    header = b"P%d %d %d 255\n" % (5 if grey else 6, pixels.shape[1], pixels.shape[0])
    chosen = [] if grey else ["-sample", SAMPLING[sampling]]
    command = ["cjpeg", "-quality", str(quality), *chosen, *options]
    return subprocess.run(command, input=header + pixels.tobytes(), capture_output=True, check=True).stdout


def djpeg(data: bytes) -> NDArray[np.uint8] | None:
    """What libjpeg-turbo's own tool makes of a JPEG (it warns and goes on where it can); None: it gives up."""
    done = subprocess.run(["djpeg", "-pnm"], input=data, capture_output=True, check=False)
    if not done.stdout.startswith((b"P5", b"P6")):
        return None
    return np.asarray(Image.open(io.BytesIO(done.stdout)))


def rgb(data: bytes) -> NDArray[np.uint8]:
    """Pillow's decode of any image, as RGB."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def image_folder(root: Path, *, classes: int = 2, per_class: int = 5, size: tuple[int, int] = (64, 48)) -> Path:
    """A folder-per-class tree of JPEGs, each image different, at `root`."""
    for label in range(classes):
        folder = root / f"class{label}"
        folder.mkdir(parents=True)
        for position in range(per_class):
            pixels = photo(*size, seed=label * per_class + position)
            (folder / f"{position:04d}.jpg").write_bytes(jpeg(pixels))
    return root
