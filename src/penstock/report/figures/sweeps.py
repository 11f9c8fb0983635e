"""What happens as something is varied: rates by workers, by latency, by think time, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.report.entries import levelled, titled
from penstock.report.figures.figure import Figure, Table
from penstock.report.plots import Axis, Curves, Heat, Level, Line, Spot
from penstock.report.units import Unit, unit_for
from penstock.results import metric, sweeps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.entries import Entry, Study
    from penstock.results import Factor

__all__ = ["curves", "heats"]

# Beside the primary metric, where they were measured: a line across at what is looked for, or none.
BESIDE = {"accelerator_use": 0.90, "latency_p50_seconds": None, "latency_p99_seconds": None}
BESIDE["cpu_seconds_per_thousand"] = None
IDEAL = {"workers", "threads", "cores", "cpus", "processes"}  # twice as many, at best, give twice as much
FAR = 16.0  # levels whose ends are so many times apart are shown on a logarithmic axis


def curves(study: Study, shown: Sequence[Entry]) -> list[Figure]:
    """Draw a result's metrics over each factor whose levels are numbers."""
    mine = [entry for entry in shown if entry.study is study]
    found = []
    for factor in study.result.factors:
        if len(factor.levels) < 2 or not all(_is_number(level) for level in factor.levels):
            continue
        for name in dict.fromkeys((study.result.primary, *BESIDE)):
            made = _curve(study, mine, factor, name)
            if made is not None:
                found.append(made)
    return found


def _is_number(level: Any) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)


def _grouped(mine: Sequence[Entry], factor: Factor) -> dict[str, list[Entry]]:
    """Gather cells that differ in this factor alone, under what they have in common."""
    groups: dict[str, list[Entry]] = {}
    for entry in mine:
        if factor.name not in entry.cell.levels:
            continue
        others = {name: level for name, level in entry.cell.levels.items() if name != factor.name}
        system = entry.study.result.system(entry.cell.system)
        twin = system.name.partition("#")[2]
        words = system.label + (f", run {twin}" if twin else "") + (f", {levelled(others)}" if others else "")
        groups.setdefault(words, []).append(entry)
    return {
        words: sorted(group, key=lambda entry: float(entry.cell.levels[factor.name])) for words, group in groups.items()
    }


def _curve(study: Study, mine: Sequence[Entry], factor: Factor, name: str) -> Figure | None:
    groups = _grouped(mine, factor)
    values = [value for entry in mine for value in entry.values(name)]
    if not values:
        return None
    unit = unit_for(metric(name).unit, max(values))
    lines, rows = list[Line](), list[tuple[str, ...]]()
    for number, (words, group) in enumerate(groups.items()):
        spots = []
        for entry in group:
            standing, level = entry.standing(name), entry.cell.levels[factor.name]
            if standing.middle is None:
                continue
            between = standing.interval
            told = f"{words}, {levelled({factor.name: level})}: {unit.say(standing.middle)}"
            told += f", 95 % {unit.of(between[0])} to {unit.of(between[1])}" if between else ""
            spots.append(Spot(float(level), standing.middle, told, between))
            share = f"{_efficiency(spots):.0%}" if factor.name in IDEAL and name == study.result.primary else "-"
            rows.append((words, f"{level}", unit.of(standing.middle), _between(between, unit), share))
        ideal: tuple[tuple[float, float], ...] = ()
        if spots and factor.name in IDEAL and name == study.result.primary and metric(name).better == "more":
            ideal = ((spots[0].x, spots[0].y), (spots[-1].x, spots[0].y * spots[-1].x / spots[0].x))
        if spots:
            lines.append(Line(words, number, tuple(spots), ideal=ideal))
    if not any(len(line.spots) > 1 for line in lines):
        return None
    levels = sorted({spot.x for line in lines for spot in line.spots})
    is_far = levels[0] > 0 and levels[-1] / levels[0] >= FAR
    x = Axis(factor.name.replace("_", " "), Unit(factor.unit), is_log=is_far, marks=tuple(levels))
    is_latency = is_far and "latency" in factor.name and min(values) > 0
    level = BESIDE.get(name)
    across = (Level(level, unit.say(level)),) if level is not None else ()
    title = f"{titled(name)} by {x.words}" + (f" · {study.name}" if study.name else "")
    plot = Curves(title, tuple(lines), x, Axis(titled(name), unit, is_log=is_latency), across)
    told = f"{metric(name).about} Marks: the median of the blocks; whiskers: its 95 % interval, from five blocks on."
    told += _knees(study, factor, name)
    if any(line.ideal for line in lines):
        told += f" Thin and dotted: what {x.words} would give if each added as much as the first."
    head: tuple[str, ...] = ("", x.title, f"median, {unit.name}" if unit.name else "median", "95 %", "of the ideal")
    if all(row[-1] == "-" for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    slug = f"by-{factor.name}-{name}-{study.name}"
    return Figure(slug, title, told.strip(), plot, Table(head, tuple(rows)), tuple(lines))


def _knees(study: Study, factor: Factor, name: str) -> str:
    """Say beyond which level more is hardly worth it, where that is within what was measured."""
    result, found = study.result, []
    for curve in sweeps.curves(result, factor.name, name):
        measured = [level for level, value in zip(curve.levels, curve.values, strict=True) if value is not None]
        if curve.knee is not None and measured and curve.knee < max(measured):
            rest = f", {levelled(curve.rest)}" if curve.rest else ""
            found.append(f"{result.system(curve.system).label}{rest}: {curve.knee}")
    words = factor.name.replace("_", " ")
    return f" More {words} than these are hardly worth it: {'; '.join(found)}." if found else ""


def heats(study: Study) -> list[Figure]:
    """Lay a result's primary metric out over its first two factors, system by system."""
    result = study.result
    if len(result.factors) < 2:
        return []
    down, across = (factor.name for factor in result.factors[:2])
    found = []
    for grid in sweeps.grids(result, down, across):
        values = [value for row in grid.values for value in row if value is not None]
        if not values:
            continue
        unit, system = unit_for(metric(result.primary).unit, max(values)), result.system(grid.system)
        twin = system.name.partition("#")[2]
        who = system.label + (f", run {twin}" if twin else "") + (f", {levelled(grid.rest)}" if grid.rest else "")
        who += f" · {study.name}" if study.name else ""
        title = f"{titled(result.primary)}: {who}"
        rows, columns = tuple(map(str, grid.rows)), tuple(map(str, grid.columns))
        names = down.replace("_", " "), across.replace("_", " ")
        plot = Heat(title, *names, rows, columns, grid.values, unit)
        lines = tuple(
            (f"{names[0]} {level}", *("-" if value is None else unit.of(value) for value in row))
            for level, row in zip(grid.rows, grid.values, strict=True)
        )
        head = ("", *(f"{names[1]} {level}" for level in columns))
        words = f"Medians of the blocks, {unit.name}, at every pair of levels. Darker is more."
        found.append(Figure(f"heat-{grid.system}-{study.name}", title, words, plot, Table(head, lines)))
    return found


def _efficiency(spots: Sequence[Spot]) -> float:
    return spots[-1].y / spots[0].y / (spots[-1].x / spots[0].x)


def _between(interval: tuple[float, float] | None, unit: Unit) -> str:
    return f"{unit.of(interval[0])} to {unit.of(interval[1])}" if interval else "-"
