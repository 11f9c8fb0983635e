"""penstock on the untouched image folder: nothing packed, nothing written into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.bench.peers import penstock_packed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "penstock, folder in place"
SETTINGS = 'penstock.torch.Loader on the folder, shuffle="full"'
DISTRIBUTIONS = penstock_packed.DISTRIBUTIONS
MODULES = penstock_packed.MODULES


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Leave the folder as it is; read the headers of its files, once and for all."""
    from penstock import open as open_dataset

    open_dataset(case.data)
    return None, False


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    return penstock_packed.read(case, case.data)
