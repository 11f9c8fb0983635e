"""All figures of some results, in the order in which they are shown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.report.entries import entries
from penstock.report.figures import caches, costs, rates, sweeps, waits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.entries import Study
    from penstock.report.figures.figure import Figure

__all__ = ["figures"]


def figures(shown: Sequence[Study], against: str | None = None) -> list[Figure]:
    """Make every figure that these results have something for. `against` is what ratios are taken to."""
    all_ = entries(shown)
    metrics = dict.fromkeys(study.result.primary for study in shown)
    by_metric = {name: [entry for entry in all_ if entry.study.result.primary == name] for name in metrics}
    found = [rates.bars(some, name) for name, some in by_metric.items()]
    for study in shown:
        found.append(rates.ratios(study, all_, against))
        found += sweeps.curves(study, all_)
        found += sweeps.heats(study)
    found += [waits.distribution(all_), waits.steps(all_)]
    found += [costs.plane(some, name) for name, some in by_metric.items()]
    found += [caches.residency(all_), caches.devices(all_)]
    found += [rates.blocks(study, all_) for study in shown]
    return _told_apart([figure for figure in found if figure is not None])


def _told_apart(found: list[Figure]) -> list[Figure]:
    """Make names fit for files and addresses, no two the same."""
    seen: set[str] = set()
    told = []
    for figure in found:
        name = re.sub(r"[^a-z0-9]+", "-", figure.name.lower()).strip("-")
        number = 2
        unique = name
        while unique in seen:
            unique, number = f"{name}-{number}", number + 1
        seen.add(unique)
        told.append(replace(figure, name=unique))
    return told
