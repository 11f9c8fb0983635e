"""NVIDIA DALI on the GPU: crops decoded by nvJPEG or the hardware decoder, resized there, and copied back to the host.

Batches end on the GPU in training; they are copied back here so that all peers deliver to the same place, and the copy
is part of the measurement.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench.peers import dali_cpu

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "DALI on the GPU"
SETTINGS = "readers.file, decoders.image_random_crop(mixed), resize with antialias, flip; uint8 HWC, copied to the host"
DISTRIBUTIONS = dali_cpu.DISTRIBUTIONS
MODULES = dali_cpu.MODULES
prepare = dali_cpu.prepare
DRIVER = Path("/dev/nvidiactl")


def refuses(case: Case) -> str | None:
    """Refuse without a GPU."""
    del case
    return None if DRIVER.exists() else "there is no NVIDIA GPU here (no driver is loaded)"


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    for batches in dali_cpu.read(case, device_id=0):
        yield ((np.asarray(images.as_cpu().as_tensor())[: len(ids)], ids) for images, ids in batches)
