"""The images of a rehearsal, written once beside the forms of the data: see `penstock.bench.rehearsal`.

They are apart from what is done with them because only the parent writes them, and has Pillow to do it.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from penstock.bench.rehearsal import FRAMES, blue_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["COUNT", "write"]

COUNT = 256


def write(folder: Path) -> None:
    """Write the images of a rehearsal as an image folder of two classes, unless they are there."""
    if (folder / "written").exists():
        return
    for sample in range(COUNT):
        width, height = FRAMES[sample % 2]
        pixels = np.empty((height, width, 3), np.uint8)
        pixels[..., 0] = np.rint(255 * (np.arange(width) + 0.5) / width)
        pixels[..., 1] = np.rint(255 * (np.arange(height) + 0.5) / height)[:, None]
        pixels[..., 2] = blue_of(np.array(sample))
        encoded = io.BytesIO()
        Image.fromarray(pixels).save(encoded, "JPEG", quality=95, subsampling=0)
        path = folder / "data" / f"{sample * 2 // COUNT}" / f"{sample:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded.getvalue())
    (folder / "written").write_text("")
