"""penstock on raw images: decoded pixels as .npy members; loading is cropping and resizing only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.bench.peers import penstock_packed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "penstock, raw"
SETTINGS = 'packed with raw=True; penstock.torch.Loader, shuffle="full", checksums verified'
DISTRIBUTIONS = penstock_packed.DISTRIBUTIONS
MODULES = penstock_packed.MODULES
SUFFIX = "raw.pen"


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Pack the folder's decoded pixels."""
    return penstock_packed.write(case, case.form(SUFFIX), raw=True)


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    path = case.form(SUFFIX)
    return penstock_packed.read(case, path, penstock_packed.places(case, path))
