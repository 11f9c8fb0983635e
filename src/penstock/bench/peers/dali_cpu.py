"""NVIDIA DALI on the CPU: its crop decoder skips the inverse transform outside the crop, not the entropy decoding.

The pipeline is run directly and its output used where it lies: DALI's PyTorch iterator would copy each batch once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "DALI on the CPU"
SETTINGS = (
    "readers.file (shuffled after each epoch), decoders.image_random_crop, resize with antialias, flip; uint8 HWC"
)
DISTRIBUTIONS = ("nvidia-dali-cuda130",)
MODULES = ("nvidia.dali",)


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Read the folder as it is."""
    del case
    return None, False


def read(case: Case, device_id: int | None) -> Iterator[Any]:
    """Give epochs of (images where DALI has them, ids); the reader's label is the sample's id."""
    from nvidia.dali import Pipeline, fn, types

    paths = [path for path, _ in case.files()]
    where, decoded = ("cpu", "cpu") if device_id is None else ("gpu", "mixed")
    pipe = Pipeline(batch_size=case.batch_size, num_threads=case.workers, device_id=device_id, seed=case.seed + 1)
    with pipe:
        encoded, ids = fn.readers.file(
            files=paths, labels=list(range(len(paths))), shuffle_after_epoch=True, pad_last_batch=True, name="files"
        )
        images = fn.decoders.image_random_crop(encoded, device=decoded, output_type=types.RGB)
        images = fn.resize(
            images, device=where, size=[case.size, case.size], interp_type=types.INTERP_LINEAR, antialias=True
        )
        pipe.set_outputs(fn.flip(images, device=where, horizontal=fn.random.coin_flip()), ids)
    pipe.build()

    def epoch() -> Iterator[tuple[Any, Any]]:
        # The reader fills its last batch up by repeating a sample; those are dropped here.
        for start in range(0, len(paths), case.batch_size):
            count = min(case.batch_size, len(paths) - start)
            images, ids = pipe.run()
            yield images, np.asarray(ids.as_tensor())[:count]

    while True:
        yield epoch()


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    for batches in read(case, device_id=None):
        yield ((np.asarray(images.as_tensor())[: len(ids)], ids) for images, ids in batches)
