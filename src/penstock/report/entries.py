"""What is shown: results under their names, and their cells as the rows and lines of every plot and table. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from penstock.results import compared, metric, slowest, standings, validity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.results import Cell, Comparison, Finding, Result, Run, Standing

__all__ = ["Entry", "Study", "entries", "levelled", "studies", "titled"]

KINDS = {"ours": "ours", "bound": "bound"}  # any other is "other"
SUFFIXES = ("_seconds", "_bytes", "_share")


@dataclass(frozen=True, slots=True)
class Study:
    """A result under the name that tells it from the others shown; empty where it is the only one.

    What it comes to is computed once: intervals are drawn ten thousand times, and many plots ask for them.
    """

    name: str
    result: Result
    _standings: dict[str, list[Standing]] = field(default_factory=dict, repr=False, compare=False)
    _slowest: list[str | None] = field(default_factory=list, repr=False, compare=False)
    _findings: list[tuple[Finding, ...]] = field(default_factory=list, repr=False, compare=False)
    _compared: dict[str, list[Comparison]] = field(default_factory=dict, repr=False, compare=False)

    def standings(self, name: str | None = None) -> list[Standing]:
        """Sum up every cell by a metric (the primary one by default), best first."""
        name = name or self.result.primary
        if name not in self._standings:
            self._standings[name] = standings(self.result, name)
        return self._standings[name]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What stands against believing it; found now where it was written before anybody looked for that."""
        if not self._findings:
            self._findings.append(self.result.findings or validity.findings(self.result))
        return self._findings[0]

    def base(self, against: str | None) -> str | None:
        """Name what its cells are compared with: what was asked for where it has that, or what is slowest."""
        named = {system.name for system in self.result.systems} | {cell.name for cell in self.result.cells}
        if against in named:
            return against
        if not self._slowest:
            self._slowest.append(slowest(self.result))
        return self._slowest[0]

    def compared(self, against: str | None) -> list[Comparison]:
        """Compare its cells with that base; nothing where no run succeeded."""
        base = self.base(against)
        if base is None:
            return []
        if base not in self._compared:
            self._compared[base] = compared(self.result, base)
        return self._compared[base]


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell of a study, as it is shown everywhere."""

    study: Study
    cell: Cell
    label: str
    kind: str  # "ours", "other" or "bound"
    number: int  # among all that are shown

    @property
    def runs(self) -> tuple[Run, ...]:
        """Runs that have values, block by block."""
        return tuple(run for run in self.study.result.runs_of(self.cell.name) if run.is_ok)

    def values(self, name: str) -> tuple[float, ...]:
        """Collect one metric, block by block."""
        return tuple(self.study.result.values(self.cell.name, name).values())

    def middle(self, name: str) -> float | None:
        """Give the median of one metric over the blocks; None where it was not measured."""
        values = self.values(name)
        return median(values) if values else None

    def standing(self, name: str | None = None) -> Standing:
        """Sum up a metric (the primary one by default)."""
        return next(one for one in self.study.standings(name) if one.cell == self.cell.name)


def studies(results: Sequence[Result], names: Sequence[str] | None = None) -> list[Study]:
    """Name results: as given, or by their titles; names that occur twice are numbered, one alone needs none."""
    if len(results) == 1:
        return [Study("", results[0])]
    given = list(names) if names else [result.title for result in results]
    often, seen, told = Counter(given), Counter[str](), []
    for name in given:
        seen[name] += 1
        told.append(f"{name} ({seen[name]})" if often[name] > 1 else name)
    return [Study(name, result) for name, result in zip(told, results, strict=True)]


def levelled(levels: dict[str, Any]) -> str:
    """Say levels of factors: "workers 2, cache cold"."""
    return ", ".join(f"{name.replace('_', ' ')} {level}" for name, level in levels.items())


def entries(shown: Sequence[Study]) -> list[Entry]:
    """List all cells of all studies, in the order of the results."""
    found: list[Entry] = []
    for study in shown:
        for cell in study.result.cells:
            system = study.result.system(cell.system)
            twin = system.name.partition("#")[2]
            parts = [system.label + (f", run {twin}" if twin else "")]
            parts += [levelled(dict(cell.levels))] if cell.levels else []
            label = ", ".join(parts) + (f" · {study.name}" if study.name else "")
            found.append(Entry(study, cell, label, KINDS.get(system.kind, "other"), len(found)))
    first = sorted(found, key=lambda entry: entry.kind != "ours")  # ours have the first colours
    numbers = {id(entry): number for number, entry in enumerate(first)}
    return [replace(entry, number=numbers[id(entry)]) for entry in found]


def titled(name: str) -> str:
    """Say a metric's name: "wait_p99_seconds" is "Wait p99"."""
    short = name
    for suffix in SUFFIXES:
        if short.endswith(suffix) and metric(name).unit:
            short = short.removesuffix(suffix)
    words = short.replace("_", " ").replace("p999", "p99.9")
    words = words.replace("cpu seconds per thousand", "processor time per sample")
    return words[:1].upper() + words[1:]
