"""penstock on a packed dataset: JPEG tiles, of which only those under the crop are decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.pack import pack
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "penstock, packed"
SETTINGS = 'penstock.torch.Loader, shuffle="full", checksums verified'
DISTRIBUTIONS = ("penstock", "torch", "numpy")
SUFFIX = "pen"


def write(case: Case, path: Path, **settings: Any) -> tuple[Path, bool]:
    """Pack the folder unless it is there; packing publishes the manifest last, so a broken-off one goes on."""
    if (path / "penstock.json").exists():
        return path, False
    pack(case.data, path, **settings)
    return path, True


def read(case: Case, source: Path | str, **options: Any) -> Iterator[Any]:
    """Deliver epochs from a packed dataset or an image folder."""
    from penstock.torch import Loader

    transforms = [RandomResizedCrop(case.size), RandomHorizontalFlip()]
    options = {"batch_size": case.batch_size, "seed": case.seed, "threads": case.workers, **options}
    with Loader(source, transforms=transforms, **options) as loader:
        number = 0
        while True:
            loader.set_epoch(number)
            yield ((batch.images, batch.ids) for batch in loader)
            number += 1


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Pack the folder."""
    return write(case, case.form(SUFFIX))


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    return read(case, case.form(SUFFIX))
