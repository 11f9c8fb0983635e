"""Where the time of one image goes: a loop over a few hundred photographs in one thread, for a profiler to look at.

    perf record -o /tmp/tiles.data python benchmarks/one_image.py PHOTOS
    perf report -i /tmp/tiles.data --stdio

RandomResizedCrop(224) of each image, from memory into a reused array. `--as original` takes the files as they are (no
restart markers: everything above the crop's end is entropy-decoded), `--as whole` takes away their end markers, so that
libjpeg-turbo decodes each from its first row to the crop's last; `tiles` (the default) is what packing makes of them.
Prints the processor time per image, the best of ten passes. An installed module has no symbols; build one that has by
-Cinstall.strip=false.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from penstock import _native
from penstock.order import Draws
from penstock.transforms import Plan, RandomResizedCrop

COUNT = 400


def encoded(folder: Path, form: str) -> list[bytes]:
    """Read the first images of a folder, as they are, tiled, or without their end."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in {".jpg", ".jpeg"})[:COUNT]
    originals = [path.read_bytes() for path in files]
    if form == "tiles":
        return [_native.tile_jpeg(data)[0] for data in originals]
    return [data.rpartition(b"\xff\xd9")[0] for data in originals] if form == "whole" else originals


def main() -> None:
    """Decode, again and again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path)
    parser.add_argument("--as", dest="form", choices=["tiles", "original", "whole"], default="tiles")
    args = parser.parse_args()
    data = encoded(args.photos, args.form)
    count = len(data)
    lengths = np.array([len(one) for one in data], np.int64)
    headers = [_native.probe(one) for one in data]
    sizes = np.array([(header["width"], header["height"]) for header in headers], np.int32)
    ids = np.arange(count)
    geometry = Plan([RandomResizedCrop(224)]).geometry(sizes[:, 0], sizes[:, 1], Draws.of(0, 0, ids))
    block, out = np.frombuffer(b"".join(data), np.uint8), np.zeros((count, 3, 224, 224), np.uint8)
    pool, kinds, best = _native.Pool(0), np.full(count, _native.JPEG, np.uint8), float("inf")
    for _ in range(10):
        begin = time.thread_time()
        pool.decode_batch(
            block,
            np.cumsum(lengths) - lengths,
            lengths,
            kinds,
            sizes,
            geometry.regions,
            geometry.clips,
            geometry.flips,
            out,
        )
        best = min(best, time.thread_time() - begin)
    print(f"{best / count * 1e3:.3f} ms per image ({count} as {args.form})")


if __name__ == "__main__":
    main()
