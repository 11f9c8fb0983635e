"""What the runs of a result come to: a standing for each cell, a verdict for each pair. Pure.

A verdict is one of four words. *Faster* and *slower* are said only when the whole 95 % interval of the ratio lies
beyond the band of what means nothing: 2 %, or what a system differed from its own twin in this very result, whichever
is wider. *Same* is said only when it lies within 2 %, so that sameness is shown and not assumed: twins that differ by
more hide it. Everything else is *inconclusive*, with a guess at how many blocks would settle it. Fewer than five
blocks, or a result that is quick by intent, never give a verdict.

Systems are compared at the same levels of all factors, in blocks where both succeeded. p is that of flipping signs;
beside it stands p after Holm, for a table of many comparisons has many chances to be wrong.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.results import statistics
from penstock.results.metrics import metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.results.result import Cell, Result

__all__ = [
    "FASTER",
    "FEWEST_BLOCKS",
    "INCONCLUSIVE",
    "SAME",
    "SLOWER",
    "Comparison",
    "Standing",
    "band",
    "compared",
    "describe",
    "slowest",
    "standings",
    "verdict",
]

FASTER, SLOWER, SAME, INCONCLUSIVE = "faster", "slower", "same", "inconclusive"
FEWEST_BLOCKS = 5
LEAST_BAND = 0.02


@dataclass(frozen=True, slots=True)
class Standing:
    """One cell over all blocks, by one metric; `middle` is None when no run of it succeeded."""

    cell: str
    system: str
    values: tuple[float, ...]  # by block, of the runs that succeeded
    middle: float | None  # median
    interval: tuple[float, float] | None  # of the median, 95 %
    failures: tuple[str, ...]  # what the others said: "failed: …"
    outliers: tuple[int, ...]  # positions in `values`
    drift: float | None  # relative change per block, where it is more than chance

    @property
    def spread(self) -> float | None:
        """Highest less lowest value, as a share of the median; large: the blocks do not agree, trust ratios only."""
        return (max(self.values) - min(self.values)) / self.middle if self.middle else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many times the metric of `against` the metric of `cell` is, over the blocks where both succeeded."""

    cell: str
    against: str
    ratios: tuple[float, ...]  # by block
    middle: float  # median: the headline
    mean: float  # geometric
    interval: tuple[float, float] | None  # 95 %, of the geometric mean
    p: float
    p_holm: float
    verdict: str
    blocks_needed: int | None  # to settle what is inconclusive


def verdict(interval: tuple[float, float] | None, blocks: int, around_one: float, better: str = "more") -> str:
    """Put an interval of a ratio into a word; `around_one` is the band that means nothing: 0.02 is 2 % either way."""
    if interval is None or blocks < FEWEST_BLOCKS:
        return INCONCLUSIVE
    low, high = interval
    beyond, below = (FASTER, SLOWER) if better == "more" else (SLOWER, FASTER)
    if low > 1 + around_one:
        return beyond
    if high < 1 / (1 + around_one):
        return below
    return SAME if low >= 1 / (1 + LEAST_BAND) and high <= 1 + LEAST_BAND else INCONCLUSIVE


def standings(result: Result, name: str | None = None) -> list[Standing]:
    """Sum up each cell by one metric (the primary one by default), best first, those that never succeeded last."""
    name = name or result.primary
    found = []
    for cell in result.cells:
        values = tuple(result.values(cell.name, name).values())
        failures = tuple(f"{run.status}: {run.message}" for run in result.runs_of(cell.name) if not run.is_ok)
        positive = bool(values) and min(values) > 0
        found.append(
            Standing(
                cell=cell.name,
                system=cell.system,
                values=values,
                middle=median(values) if values else None,
                interval=statistics.bootstrap_interval(values, seed=result.seed),
                failures=failures,
                outliers=tuple(statistics.outliers(values)),
                drift=statistics.drift(values) if positive else None,
            )
        )
    sign = -1 if metric(name).better != "less" else 1
    return sorted(found, key=lambda s: (s.middle is None, sign * (s.middle or 0.0)))


def slowest(result: Result, name: str | None = None) -> str | None:
    """Name what to compare with when nobody said: the system of the last standing that has a value.

    Where there is one system only, it is the cell of that standing.
    """
    done = [standing for standing in standings(result, name) if standing.middle is not None]
    if not done:
        return None
    return done[-1].cell if len(result.systems) == 1 else done[-1].system


def band(result: Result, name: str | None = None) -> float:
    """Give the half-width around 1 in which a ratio means nothing: 2 %, or what twins differed by, if that is more."""
    name = name or result.primary
    widest = LEAST_BAND
    for cell, other in _twins(result):
        ratios = _ratios(result, cell.name, other.name, name)
        if ratios:
            low, high = statistics.log_ratio_interval(ratios) or (min(ratios), max(ratios))
            widest = max(widest, math.exp(max(abs(math.log(low)), abs(math.log(high)))) - 1)
    return widest


def _twins(result: Result) -> list[tuple[Cell, Cell]]:
    """Pair each twin with the first cell of the same peer at the same levels."""
    first: dict[Any, Cell] = {}
    pairs = []
    for cell in result.cells:
        key = result.system(cell.system).peer, tuple(sorted((k, str(v)) for k, v in cell.levels.items()))
        if key in first:
            pairs.append((cell, first[key]))
        first.setdefault(key, cell)
    return pairs


def _ratios(result: Result, cell: str, against: str, name: str) -> tuple[float, ...]:
    ours, theirs = result.values(cell, name), result.values(against, name)
    common = (block for block in sorted(ours) if theirs.get(block, 0.0) > 0 and ours[block] > 0)
    return tuple(ours[block] / theirs[block] for block in common)


def _pairs(result: Result, against: str) -> list[tuple[str, str]]:
    """Pair cells with what they are compared with: `against` is a system (at the same levels) or one cell (for all)."""
    if against in {system.name for system in result.systems}:
        bases = [cell for cell in result.cells if cell.system == against]
        others = [cell for cell in result.cells if cell.system != against]
        return [(cell.name, base.name) for cell in others for base in bases if cell.levels == base.levels]
    if against in {cell.name for cell in result.cells}:
        return [(cell.name, against) for cell in result.cells if cell.name != against]
    known = ", ".join(system.name for system in result.systems)
    raise UsageError("nothing of this name to compare with", got=against, expected=f"one of {known}")


def compared(result: Result, against: str | None = None, name: str | None = None) -> list[Comparison]:
    """Compare all others with a system or a cell (the slowest system by default), in the order of the standings.

    Cells without a block in which both succeeded are left out.
    """
    name = name or result.primary
    against = against or slowest(result, name)
    if against is None:
        return []
    around, better = band(result, name), metric(name).better
    order = {standing.cell: number for number, standing in enumerate(standings(result, name))}
    pairs = sorted(_pairs(result, against), key=lambda pair: order[pair[0]])
    found = [(cell, base, _ratios(result, cell, base, name)) for cell, base in pairs]
    found = [one for one in found if one[2]]
    ps = [statistics.sign_flip_p(ratios, seed=result.seed) for _, _, ratios in found]
    corrected = statistics.holm(ps)
    return [
        _comparison(pair, p, holm, around, better, is_quick=result.is_quick)
        for pair, p, holm in zip(found, ps, corrected, strict=True)
    ]


def _comparison(
    pair: tuple[str, str, Sequence[float]], p: float, holm: float, around: float, better: str, *, is_quick: bool
) -> Comparison:
    cell, against, ratios = pair
    interval = statistics.log_ratio_interval(ratios)
    said = INCONCLUSIVE if is_quick else verdict(interval, len(ratios), around, better)
    needed = None
    if said == INCONCLUSIVE and not is_quick:
        # To be told from nothing the interval must be narrower than the distance of the ratio from the band's edge.
        away = abs(abs(math.log(statistics.mean_of_logs(ratios))) - math.log1p(around))
        needed = statistics.blocks_needed(ratios, math.expm1(max(away, 0.001)))
        needed = None if needed is None else max(needed, FEWEST_BLOCKS, len(ratios) + 1)
    mean = statistics.mean_of_logs(ratios)
    return Comparison(cell, against, tuple(ratios), median(ratios), mean, interval, p, holm, said, needed)


def describe(result: Result) -> dict[str, Any]:
    """Describe the conclusions as plain values: by the primary metric, against the slowest system."""
    return {
        "metric": result.primary,
        "against": slowest(result),
        "band": band(result),
        "standings": [asdict(standing) for standing in standings(result)],
        "comparisons": [asdict(comparison) for comparison in compared(result)],
    }
