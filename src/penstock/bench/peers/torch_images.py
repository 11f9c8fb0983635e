"""What peers under PyTorch share: encoded bytes become a cropped uint8 tensor, and a DataLoader makes batches of them.

Pillow decodes; torchvision crops, resizes and flips the tensor, which is about three times as fast as on Pillow's
image. So these peers differ in how they store and read, and in nothing else. This is no peer.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from penstock.bench.case import Case

__all__ = ["DISTRIBUTIONS", "MODULES", "decoder", "loader", "made"]

DISTRIBUTIONS = ("torch", "torchvision", "pillow")
MODULES = ("torch", "torchvision", "torchvision.transforms.v2")


class _Decoder:
    """Decodes, crops, resizes and flips one image; a class, so that it can be sent to workers."""

    def __init__(self, size: int) -> None:
        from torchvision.transforms import v2

        self._geometry = v2.Compose(
            [v2.PILToTensor(), v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip()]
        )

    def __call__(self, data: bytes) -> Any:
        from PIL import Image

        with Image.open(io.BytesIO(data)) as file:
            return self._geometry(file.convert("RGB"))


def decoder(case: Case) -> Callable[[bytes], Any]:
    """Make what turns encoded bytes into a tensor."""
    return _Decoder(case.size)


def loader(dataset: Any, case: Case, **options: Any) -> Any:
    """Make a DataLoader as most people have it, its workers kept between epochs."""
    import torch
    from torch.utils.data import DataLoader

    torch.manual_seed(case.seed)
    given = {"batch_size": case.batch_size, "num_workers": case.workers, "persistent_workers": True, **options}
    return DataLoader(dataset, **given)


def made(path: Path, write: Callable[[Path], None]) -> tuple[Path, bool]:
    """Have a form written unless it is there; under another name first, so that a broken-off one is never used."""
    import shutil

    if path.exists():
        return path, False
    part = path.with_name(path.name + ".part")
    if part.is_dir():
        shutil.rmtree(part)
    elif part.exists():
        part.unlink()
    write(part)
    part.rename(path)
    return path, True


def forever(epoch: Any) -> Iterator[Any]:
    """Give the same loader for every epoch."""
    while True:
        yield epoch
