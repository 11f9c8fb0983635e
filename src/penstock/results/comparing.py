"""Two results of different times or revisions, side by side, and only where they are alike. Pure.

Ratios within one result are paired block by block; between two results nothing is paired, and the machine may have been
another, or in another mood. So first it is said what differs: the processor, the data, the work, the settings of a
system. Unlike results are compared only when that is allowed by name. The interval is then Welch's on logarithms of the
blocks' values, which is wider than a paired one, as it should be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.results.conclusions import INCONCLUSIVE, SLOWER, band, verdict
from penstock.results.metrics import metric
from penstock.results.statistics import student_t

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from penstock.results.result import Result

__all__ = ["Change", "Difference", "changes", "differences", "is_slower_by"]

# What may differ without a word: it does in any two runs, or is what one wants to compare.
IGNORED = {"machine.load_before", "machine.argv0", "machine.steal_ticks_before", "revision", "machine.python"}


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in which two results are not alike."""

    name: str  # the path of the field: "machine.processor", "work.batch_size", "systems.ffcv.versions"
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Change:
    """How many times as much one cell has in the later result."""

    cell: str
    before: tuple[float, ...]  # by block
    after: tuple[float, ...]
    ratio: float  # of the geometric means
    interval: tuple[float, float] | None
    verdict: str


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        parts = (_flat(part, f"{name}.{key}" if name else str(key)) for key, part in value.items())
        return {key: part for found in parts for key, part in found.items()}
    return {name: value}


def differences(before: Result, after: Result) -> list[Difference]:
    """List everything in which two results are not alike and that a number may hang on."""
    sides = []
    for result in (before, after):
        systems = {one.name: {"settings": one.settings, "versions": dict(one.versions)} for one in result.systems}
        sides.append(
            _flat(
                {
                    **dict(result.manifest),
                    "work": dict(result.work),
                    "primary": result.primary,
                    "is_quick": result.is_quick,
                    "systems": systems,
                }
            )
        )
    one, other = sides
    shared = {system.name for system in before.systems} & {system.name for system in after.systems}
    names = [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]
    return [
        Difference(name, one.get(name), other.get(name))
        for name in names
        if name not in IGNORED
        and not name.endswith(".versions.penstock")
        and (not name.startswith("systems.") or name.split(".")[1] in shared)
    ]


def changes(before: Result, after: Result, *, allow: Collection[str] = ()) -> list[Change]:
    """Compare the cells that both results have. What differs must be allowed by its name, or "all" be."""
    found = [one for one in differences(before, after) if one.name not in allow and "all" not in allow]
    if found:
        told = "; ".join(f"{one.name}: {one.before!r} and {one.after!r}" for one in found[:8])
        more = f"; and {len(found) - 8} more" if len(found) > 8 else ""
        hint = "allow what does not matter by its name (--allow NAME), or all (--allow all)"
        raise UsageError("the results are not alike", got=told + more, expected="the same", hint=hint)
    around, better = max(band(before), band(after)), metric(before.primary).better
    later = {cell.name for cell in after.cells}
    both = [cell.name for cell in before.cells if cell.name in later]
    pairs = [(name, _values(before, name), _values(after, name, before.primary)) for name in both]
    return [_change(name, old, new, around, better) for name, old, new in pairs if old and new]


def _values(result: Result, cell: str, name: str | None = None) -> tuple[float, ...]:
    values: Mapping[int, float] = result.values(cell, name or result.primary)
    return tuple(value for value in values.values() if value > 0)


def _change(cell: str, before: Sequence[float], after: Sequence[float], around: float, better: str) -> Change:
    old, new = [math.log(value) for value in before], [math.log(value) for value in after]
    middle, interval = fmean(new) - fmean(old), None
    if min(len(old), len(new)) >= 3:
        parts = [variance(side) / len(side) for side in (old, new)]
        spread = math.sqrt(sum(parts))
        if spread:
            weights = sum(part**2 / (len(side) - 1) for part, side in zip(parts, (old, new), strict=True))
            half = student_t(max(1, int(spread**4 / weights))) * spread
        else:
            half = 0.0
        interval = math.exp(middle - half), math.exp(middle + half)
    word = verdict(interval, min(len(old), len(new)), around, better) if interval else INCONCLUSIVE
    return Change(cell, tuple(before), tuple(after), math.exp(middle), interval, word)


def is_slower_by(change: Change, share: float, better: str = "more") -> bool:
    """Tell whether a cell has surely become worse by more than a share: the whole interval lies beyond it."""
    if change.interval is None or change.verdict not in {SLOWER, INCONCLUSIVE}:
        return False
    low, high = change.interval
    return high < 1 - share if better == "more" else low > 1 + share
