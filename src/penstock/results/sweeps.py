"""Results over factors: heat-maps of two factors, and the knee of one. Pure.

The knee is the largest level that was still worth it: going on from the level before, at least 80 % of what more of the
factor promised came true (twice the workers, at least 1.8 times the rate: 80 % of the second hundred percent). What is
beyond the knee costs more than it brings.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.results.metrics import metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.results.result import Result

__all__ = ["WORTH_IT", "Curve", "Grid", "curves", "grids", "knee"]

WORTH_IT = 0.8


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric along one factor, for one system and one level of every other factor."""

    system: str
    factor: str
    rest: dict[str, Any]  # the levels of the other factors
    levels: tuple[Any, ...]
    values: tuple[float | None, ...]  # medians over blocks; None where no run succeeded
    knee: Any  # a level; None where the factor is no number, or rates do not grow with it


@dataclass(frozen=True, slots=True)
class Grid:
    """One metric over two factors, for one system and one level of every other factor."""

    system: str
    down: str  # the factor of the rows
    across: str
    rest: dict[str, Any]
    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    values: tuple[tuple[float | None, ...], ...]  # row by row


def knee(levels: Sequence[float], values: Sequence[float | None]) -> float | None:
    """Find the largest level that was worth going to, from the least one on; None of fewer than two."""
    points = [(level, value) for level, value in sorted(zip(levels, values, strict=True)) if value and level > 0]
    if len(points) < 2:
        return None
    reached = points[0][0]
    for (level, value), (more, gained) in pairwise(points):
        if gained / value - 1 < WORTH_IT * (more / level - 1):
            break
        reached = more
    return reached


def _value(result: Result, system: str, levels: dict[str, Any], name: str) -> float | None:
    for cell in result.cells:
        if cell.system == system and dict(cell.levels) == levels:
            found = result.values(cell.name, name).values()
            return median(found) if found else None
    return None


def _rests(result: Result, without: set[str]) -> list[dict[str, Any]]:
    """List the combinations of levels of all factors but some."""
    found: list[dict[str, Any]] = []
    for cell in result.cells:
        rest = {name: level for name, level in cell.levels.items() if name not in without}
        if rest not in found:
            found.append(rest)
    return found


def _levels(result: Result, name: str) -> tuple[Any, ...]:
    factor = next((factor for factor in result.factors if factor.name == name), None)
    if factor is None:
        known = ", ".join(factor.name for factor in result.factors) or "none"
        raise UsageError("nothing of this name was varied", got=name, expected=known)
    return factor.levels


def curves(result: Result, factor: str, name: str | None = None) -> list[Curve]:
    """Follow one metric (the primary one by default) along one factor."""
    name = name or result.primary
    levels = _levels(result, factor)
    is_number = all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in levels)
    found = []
    for system in result.systems:
        for rest in _rests(result, {factor}):
            values = tuple(_value(result, system.name, {**rest, factor: level}, name) for level in levels)
            at = knee(levels, values) if is_number and metric(name).unit.endswith("/s") else None
            found.append(Curve(system.name, factor, rest, levels, values, at))
    return found


def grids(result: Result, down: str, across: str, name: str | None = None) -> list[Grid]:
    """Lay one metric out over two factors."""
    name = name or result.primary
    rows, columns = _levels(result, down), _levels(result, across)
    return [
        Grid(
            system.name,
            down,
            across,
            rest,
            rows,
            columns,
            tuple(
                tuple(_value(result, system.name, {**rest, down: row, across: column}, name) for column in columns)
                for row in rows
            ),
        )
        for system in result.systems
        for rest in _rests(result, {down, across})
    ]
