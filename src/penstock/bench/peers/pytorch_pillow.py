"""Plain PyTorch: a dataset of one's own with Pillow under a DataLoader, as in many a training script."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from penstock.bench.rehearsal import crop_box

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "PyTorch DataLoader + Pillow"
SETTINGS = "Pillow decodes, crops, resizes (bilinear) and flips; worker processes kept between epochs, prefetch 2"
DISTRIBUTIONS = ("torch", "pillow")
MODULES = ("torch",)


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Read the folder as it is."""
    del case
    return None, False


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs of (images, ids)."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Photos(Dataset[Any]):
        """Decodes, crops, resizes and flips one image at a time."""

        def __init__(self) -> None:
            self.paths = [path for path, _ in case.files()]

        def __len__(self) -> int:
            return len(self.paths)

        def __getitem__(self, sample: int) -> tuple[Any, int]:
            with Image.open(self.paths[sample]) as file:
                image = file.convert("RGB")
            box = crop_box(*image.size)
            image = image.crop(box).resize((case.size, case.size), Image.Resampling.BILINEAR)
            if random.random() < 0.5:  # noqa: S311 augmentation, not secrecy
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            return torch.from_numpy(np.array(image).transpose(2, 0, 1)), sample

    torch.manual_seed(case.seed)
    loader = DataLoader(
        Photos(), batch_size=case.batch_size, shuffle=True, num_workers=case.workers, persistent_workers=True
    )
    while True:
        yield loader
