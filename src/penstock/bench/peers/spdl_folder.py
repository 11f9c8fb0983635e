"""SPDL on the untouched folder: threads that let go of the interpreter, FFmpeg decoding, its filters cropping.

The size of an image is read from its header first, for the filter wants the box in pixels.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.rehearsal import crop_box

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "SPDL"
SETTINGS = "PipelineBuilder, a thread per CPU decodes; FFmpeg's crop, scale (bilinear) and hflip; uint8 HWC"
DISTRIBUTIONS = ("spdl", "spdl-io", "numpy", "pillow")
MODULES = ("spdl.io", "spdl.pipeline")


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Read the folder as it is."""
    del case
    return None, False


def refuses(case: Case) -> str | None:
    """Refuse without FFmpeg's libraries."""
    import spdl.io

    try:
        spdl.io.demux_image(case.files()[0][0])
    except RuntimeError as error:
        return str(error).partition("Enable DEBUG")[0]
    return None


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    import numpy as np
    import spdl.io
    from PIL import Image
    from spdl.pipeline import PipelineBuilder

    paths = [path for path, _ in case.files()]
    draws = random.Random(case.seed)  # noqa: S311 an order, no secret

    def decode(sample: int) -> Any:
        data = Path(paths[sample]).read_bytes()
        with Image.open(paths[sample]) as file:
            left, top, right, bottom = crop_box(*file.size, draws)
        flip = ",hflip" if draws.random() < 0.5 else ""
        crop = f"crop={right - left}:{bottom - top}:{left}:{top}:exact=1"
        scale = f"scale={case.size}:{case.size}:flags=bilinear"
        packets = spdl.io.demux_image(data)
        frames = spdl.io.decode_packets(packets, filter_desc=f"format=rgb24,{crop},{scale}{flip},format=rgb24")
        return frames, sample

    def collate(items: list[Any]) -> Any:
        buffer = spdl.io.convert_frames([frames for frames, _ in items])
        return spdl.io.to_numpy(buffer), np.array([sample for _, sample in items])

    def epoch() -> Iterator[Any]:
        order = list(range(len(paths)))
        draws.shuffle(order)
        pipeline = (
            PipelineBuilder()
            .add_source(order)
            .pipe(decode, concurrency=case.workers)
            .aggregate(case.batch_size)
            .pipe(collate)
            .add_sink(2)
            .build(num_threads=case.workers)
        )
        with pipeline.auto_stop():
            yield from pipeline

    while True:
        yield epoch()
