"""FFCV with JPEG storage: its writer decodes and encodes again at quality 92, its loader decodes whole images.

FFCV compiles the pipeline at its first use; that falls into the epoch that is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "FFCV, jpg mode"
SETTINGS = "write_mode jpg, quality 92; RandomResizedCropRGBImageDecoder (INTER_AREA), OrderOption.RANDOM, os_cache"
DISTRIBUTIONS = ("ffcv", "torch", "numba", "opencv-python")
MODULES = ("ffcv", "ffcv.loader")
SUFFIX = "beton"


class Files:
    """What FFCV's writer asks for: (image, id) by position."""

    def __init__(self, case: Case) -> None:
        self.paths = [path for path, _ in case.files()]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, sample: int) -> tuple[Any, int]:
        with Image.open(self.paths[sample]) as file:
            return file.convert("RGB"), sample


def write(case: Case, path: Path, **mode: Any) -> tuple[Path, bool]:
    """Write a .beton unless it is there; under another name first, so that a broken-off one is never used."""
    if path.exists():
        return path, False
    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter

    part = path.with_name(path.name + ".part")
    fields = {"image": RGBImageField(**mode), "label": IntField()}
    DatasetWriter(str(part), fields, num_workers=case.workers).from_indexed_dataset(Files(case))
    part.rename(path)
    return path, True


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Write the .beton."""
    return write(case, case.form(SUFFIX), write_mode="jpg", jpeg_quality=92)


def read(case: Case, path: Path) -> Iterator[Any]:
    """Deliver epochs from a .beton."""
    from ffcv.fields.basics import IntDecoder
    from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import RandomHorizontalFlip, Squeeze, ToTensor

    side = (case.size, case.size)
    loader = Loader(
        str(path),
        batch_size=case.batch_size,
        num_workers=case.workers,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=False,
        seed=case.seed,
        pipelines={
            "image": [RandomResizedCropRGBImageDecoder(side), RandomHorizontalFlip(), ToTensor()],
            "label": [IntDecoder(), ToTensor(), Squeeze()],
        },
    )
    while True:
        yield loader


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    return read(case, case.form(SUFFIX))
