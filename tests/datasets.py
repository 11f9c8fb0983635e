"""Small datasets for the loader's tests, made once per test run: photographs of several sizes, packed and not."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import penstock
from tests.images import jpeg, photo, png

if TYPE_CHECKING:
    import numpy as np

SIZES = ((96, 72), (72, 96), (120, 64), (80, 80), (50, 110))
COUNT = 47


@lru_cache(maxsize=1)
def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="penstock-tests-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


def pixels_of(number: int) -> np.ndarray:
    """The picture of one sample, before it became a JPEG."""
    return photo(*SIZES[number % len(SIZES)], seed=number)


@lru_cache(maxsize=1)
def folder() -> Path:
    """A folder-per-class tree of 47 JPEGs."""
    root = _root() / "photos"
    for number in range(COUNT):
        path = root / f"class{number % 4}" / f"{number:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(pixels_of(number), quality=90))
    return root


@lru_cache(maxsize=1)
def packed() -> Path:
    """The same, packed, in the order of the folder."""
    penstock.pack(folder(), _root() / "photos.pen", seed=None)
    return _root() / "photos.pen"


@lru_cache(maxsize=1)
def masked() -> Path:
    """Raw images with masks that hold their red channel, packed."""
    images, masks = _root() / "pictures", _root() / "masks"
    for number in range(20):
        for where, data in ((images, png(pixels_of(number))), (masks, png(pixels_of(number)[:, :, 0]))):
            path = where / "one" / f"{number:03d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    penstock.pack(images, _root() / "masked.pen", masks=masks, raw=True)
    return _root() / "masked.pen"


@lru_cache(maxsize=1)
def labelled() -> Path:
    """Eight JPEGs of one size with a text, a number with a fraction and a whole number as labels, packed."""
    images = _root() / "flat"
    images.mkdir()
    rows = ["file,caption,weight,label"]
    for number in range(8):
        (images / f"{number}.jpg").write_bytes(jpeg(photo(64, 48, seed=number)))
        rows.append(f"{number}.jpg,number {number},{number / 2},{number % 3}")
    (_root() / "labels.csv").write_text("\n".join(rows) + "\n")
    penstock.pack(images, _root() / "labelled.pen", labels=_root() / "labels.csv")
    return _root() / "labelled.pen"
