"""penstock on the untouched image folder in window order: neighbouring files are read in the order of the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.bench.peers import penstock_folder, penstock_packed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "penstock, folder in place, windows"
SETTINGS = 'penstock.torch.Loader on the folder, shuffle="window"'
DISTRIBUTIONS = penstock_folder.DISTRIBUTIONS
MODULES = penstock_folder.MODULES
prepare = penstock_folder.prepare


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    return penstock_packed.read(case, case.data, shuffle="window")
