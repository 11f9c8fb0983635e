"""penstock on a packed dataset: JPEG tiles, of which only those under the crop are decoded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.opening import open_dataset
from penstock.pack import pack
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from penstock.bench.case import Case

LABEL = "penstock, packed"
SETTINGS = 'penstock.torch.Loader, shuffle="full", checksums verified'
DISTRIBUTIONS = ("penstock", "torch", "numpy")
MODULES = ("penstock.torch",)
SUFFIX = "pen"


def write(case: Case, path: Path, **settings: Any) -> tuple[Path, bool]:
    """Pack the folder unless it is there; packing publishes the manifest last, so a broken-off one goes on."""
    if (path / "penstock.json").exists():
        return path, False
    pack(case.data, path, **settings)
    return path, True


def places(case: Case, path: Path) -> NDArray[np.int64]:
    """Find which file of the listing each sample of a packed dataset was: packing puts them into another order."""
    root = Path(case.data)
    place = {
        Path(name).relative_to(root).with_suffix("").as_posix(): number for number, (name, _) in enumerate(case.files())
    }
    dataset = open_dataset(path)
    return np.array([place[dataset.key(number)] for number in range(len(dataset))])


def read(case: Case, source: Path | str, ids: NDArray[np.int64] | None = None, **options: Any) -> Iterator[Any]:
    """Deliver epochs from a packed dataset or an image folder. `ids` are by the dataset's own numbers, if not these."""
    from penstock.torch import Loader

    transforms = [RandomResizedCrop(case.size), RandomHorizontalFlip()]
    options = {"batch_size": case.batch_size, "seed": case.seed, "threads": case.workers, **options}
    with Loader(source, transforms=transforms, **options) as loader:
        number = 0
        while True:
            loader.set_epoch(number)
            yield ((batch.images, batch.ids if ids is None else ids[np.asarray(batch.ids)]) for batch in loader)
            number += 1


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Pack the folder."""
    return write(case, case.form(SUFFIX))


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    path = case.form(SUFFIX)
    return read(case, path, places(case, path))
