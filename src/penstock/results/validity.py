"""What a reader should hold against a result before believing it, found in the result itself. Pure.

Said beside the numbers and stored with them, never hidden. "note" is for knowing, "doubt" makes a number weaker,
"invalid" says that something was not what it was said to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.results import statistics
from penstock.results.conclusions import FEWEST_BLOCKS, LEAST_BAND, band, standings
from penstock.results.result import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.results.result import Result

__all__ = ["findings"]

BUSY_LOAD = 0.7  # runnable processes before it began, above which something else was at work
WIDE_SPREAD = 0.15
LEVELS_APART = 6.0  # random crops alone move the mean level of a thousand images by less than this
LONG_SECONDS = 5.0  # of a window; shorter ones have little to say about a long training


def findings(result: Result) -> tuple[Finding, ...]:
    """List every reason to trust this result less, in whole sentences."""
    found = (_blocks, _machine, _lengths, _systems, _cache, _agreement, _noise)
    return tuple(finding for look in found for finding in look(result))


def _blocks(result: Result) -> Iterator[Finding]:
    if result.status != "complete":
        yield Finding(name="interrupted", severity="doubt", message="It was interrupted: not all runs are there.")
    blocks = len({run.block for run in result.runs if run.is_ok})
    if result.is_quick or blocks < FEWEST_BLOCKS:
        many = f"Only {blocks} block{'s' if blocks != 1 else ''}" if blocks < FEWEST_BLOCKS else "Quick by intent"
        message = f"{many}: a look, not a measurement ({FEWEST_BLOCKS} blocks or more)."
        yield Finding(name="blocks", severity="doubt", message=message)


def _machine(result: Result) -> Iterator[Finding]:
    machine = result.manifest.get("machine", {})
    load = machine.get("load_before") or 0.0
    if load > BUSY_LOAD:
        yield Finding(name="load", severity="doubt", message=f"The machine was busy before it began (load {load}).")
    if machine.get("virtual") and any(run.cache and run.cache.found == "cold" for run in result.runs):
        message = "Cold is proven for this system's own cache; below the virtual machine there may be another."
        yield Finding(name="host cache", severity="note", message=message)


def _lengths(result: Result) -> Iterator[Finding]:
    short = [run.values["seconds"] for run in result.runs if run.values.get("seconds", LONG_SECONDS) < LONG_SECONDS]
    if short:
        message = f"Runs as short as {min(short):.2g} s: what happens rarely is not in them."
        yield Finding(name="length", severity="note", message=message)


def _systems(result: Result) -> Iterator[Finding]:
    for standing in standings(result):
        cells = (standing.cell,)
        if standing.spread is not None and standing.spread > WIDE_SPREAD:
            message = f"{standing.cell}: blocks differ by {standing.spread:.0%} of the median."
            yield Finding(name="spread", severity="doubt", message=message, cells=cells)
        if standing.failures:
            runs = len(standing.failures) + len(standing.values)
            message = f"{standing.cell}: {len(standing.failures)} of {runs} runs did not succeed."
            yield Finding(name="failures", severity="doubt", message=message, cells=cells)
        if standing.outliers:
            message = f"{standing.cell}: {len(standing.outliers)} of {len(standing.values)} values lie far off; kept."
            yield Finding(name="outliers", severity="note", message=message, cells=cells)
    series: dict[int, list[float]] = {}
    for run in result.runs:
        if run.is_ok and run.values.get(result.primary, 0) > 0:
            series.setdefault(run.block, []).append(run.values[result.primary])
    means = [statistics.mean_of_logs(values) for _, values in sorted(series.items())]
    slope = statistics.drift(means) if len({len(values) for values in series.values()}) == 1 else None
    if slope is not None and abs(slope) > LEAST_BAND / 2:
        message = f"All together changed by {slope:+.1%} per block: the machine drifts. Ratios within blocks are sound."
        yield Finding(name="drift", severity="note", message=message)


def _cache(result: Result) -> Iterator[Finding]:
    expected = {"dropped": "cold", "disk": "cold", "limited": None, "as it was": None}
    for cell in result.cells:
        caches = [run.cache for run in result.runs_of(cell.name) if run.cache and run.is_ok]
        off = {cache.found for cache in caches if expected.get(cache.asked, cache.asked) not in {None, cache.found}}
        if off:
            message = f"{cell.name}: the page cache was to be {caches[0].asked}, and was {', '.join(sorted(off))}."
            yield Finding(name="cache", severity="invalid", message=message, cells=(cell.name,))


def _agreement(result: Result) -> Iterator[Finding]:
    levels = [run.raw["levels"] for run in result.runs if run.is_ok and run.raw.get("levels")]
    if levels:
        spread = [round(max(channel) - min(channel), 2) for channel in zip(*levels, strict=True)]
        if max(spread) > LEVELS_APART:
            message = f"Mean levels of red, green, blue differ between runs by {spread}: not the same pixels."
            yield Finding(name="levels", severity="doubt", message=message)


def _noise(result: Result) -> Iterator[Finding]:
    width = band(result)
    if width > LEAST_BAND:
        message = f"A system differs from itself by up to {width:.1%} here: smaller differences mean nothing."
        yield Finding(name="noise", severity="note", message=message)
