"""penstock on a packed dataset in window order: long reads in random order, samples mixed in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.bench.peers import penstock_packed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "penstock, packed, windows"
SETTINGS = 'penstock.torch.Loader, shuffle="window", checksums verified'
DISTRIBUTIONS = penstock_packed.DISTRIBUTIONS
MODULES = penstock_packed.MODULES
prepare = penstock_packed.prepare


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    path = case.form(penstock_packed.SUFFIX)
    return penstock_packed.read(case, path, penstock_packed.places(case, path), shuffle="window")
