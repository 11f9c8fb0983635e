"""torchvision: ImageFolder under a DataLoader with worker processes, what most people train with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "torchvision ImageFolder + DataLoader"
SETTINGS = "v2 transforms on uint8 tensors, worker processes kept between epochs, prefetch 2"
DISTRIBUTIONS = ("torch", "torchvision", "pillow")
MODULES = ("torch", "torchvision")


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Read the folder as it is."""
    del case
    return None, False


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs; the class of each sample is replaced by its id."""
    import torch
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import v2

    torch.manual_seed(case.seed)
    geometry = [v2.RandomResizedCrop(case.size, antialias=True), v2.RandomHorizontalFlip()]
    # To a tensor first: on uint8 tensors torchvision resizes about three times faster than Pillow does.
    folder = ImageFolder(case.data, transform=v2.Compose([v2.PILToTensor(), *geometry]))
    folder.samples = [(path, sample) for sample, (path, _) in enumerate(folder.samples)]
    loader = DataLoader(
        folder, batch_size=case.batch_size, shuffle=True, num_workers=case.workers, persistent_workers=True
    )
    while True:
        yield loader
