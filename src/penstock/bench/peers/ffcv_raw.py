"""FFCV with raw storage: decoded pixels at their original size; loading is cropping and resizing only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.bench.peers import ffcv_jpg

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "FFCV, raw mode"
SETTINGS = "write_mode raw; RandomResizedCropRGBImageDecoder (INTER_AREA), OrderOption.RANDOM, os_cache"
DISTRIBUTIONS = ffcv_jpg.DISTRIBUTIONS
MODULES = ffcv_jpg.MODULES
SUFFIX = "raw.beton"


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Write the .beton."""
    return ffcv_jpg.write(case, case.form(SUFFIX), write_mode="raw")


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    return ffcv_jpg.read(case, case.form(SUFFIX))
