"""One number for everything the native core computes: equal numbers mean equal bytes, whatever the instruction set."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
from tests.images import SAMPLING, cjpeg, photo
from tests.native.calls import decode_one

from penstock import _native


def survey() -> str:
    """Decode and resample a bit of everything; a digest of all pixels."""
    digest = hashlib.sha256()
    random = np.random.default_rng(11)
    pixels = [photo(*size) for size in [(1, 1), (7, 9), (33, 17), (160, 120), (301, 203)]]
    images = [cjpeg(p, sampling=mode, quality=85) for p in pixels for mode in SAMPLING]
    images += [cjpeg(p[..., 0]) for p in pixels]
    images += [cjpeg(pixels[-1], options=["-progressive"]), cjpeg(pixels[-1], options=["-restart", "5B"])]
    images += [_native.tile_jpeg(image)[0] for image in images]
    for image in [*images, *pixels]:
        width, height = image.shape[1::-1] if isinstance(image, np.ndarray) else _size(image)
        for size in [(width, height), (17, 23), (64, 31), (224, 40), (3, 2)]:
            x0, y0 = int(random.integers(width)), int(random.integers(height))
            box = (x0, y0, int(random.integers(x0 + 1, width + 1)), int(random.integers(y0 + 1, height + 1)))
            for clip in (box, (0, 0, width, height)):
                for first in (True, False):
                    out = decode_one(image, regions=box, clips=clip, size=size, flip=first, channels_first=first)
                    digest.update(np.ascontiguousarray(out))
    for length in range(100):
        digest.update(_native.crc32c(bytes(range(length))).to_bytes(4, "little"))
    return digest.hexdigest()


def _size(image: bytes) -> tuple[int, int]:
    header = _native.probe(image)
    return header["width"], header["height"]


if __name__ == "__main__":
    sys.stdout.write(f"{_native.SIMD} {survey()}\n")
