"""How long the consumer waited: which share of steps waited longer than so long, and step after step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.figures.figure import Figure, Table
from penstock.report.plots import Axis, Curves, Line, Spot, Strip, Track
from penstock.report.units import Unit, said, spoken_share, unit_for
from penstock.results import waits as histograms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.entries import Entry
    from penstock.results import Waits

__all__ = ["distribution", "steps"]

MOST_LINES = 16
MOST_TRACKS = 8
SHARES = (0.5, 0.9, 0.99, 0.999)


def _longer(waits: Waits) -> tuple[tuple[float, float], ...]:
    """Trace which share of the waits was longer, as steps: at a class's end it falls by what the class holds."""
    total = sum(waits.counts.values())
    left, path = total, list[tuple[float, float]]()
    for number in sorted(waits.counts):
        if not path:
            path.append((histograms.upper_edge(number - 1), 1.0))
        end = min(histograms.upper_edge(number), waits.longest_seconds)
        path.append((end, left / total))
        left -= waits.counts[number]
        path.append((end, max(left, 1) / total))  # of the last class the longest stays: nothing waited longer than it
    return tuple(path)


def _spots(entry: Entry, waits: Waits) -> tuple[Spot, ...]:
    total = sum(waits.counts.values())
    found = []
    for share in SHARES:
        value = histograms.percentile(waits, share)
        if value and total * (1 - share) >= 1:
            words = f"{entry.label}: {spoken_share(share)} of {total:,} steps waited no longer than {said(value, 's')}"
            found.append(Spot(value, 1 - share, words))
    if waits.longest_seconds > 0:
        words = f"{entry.label}: the longest of {total:,} waits was {said(waits.longest_seconds, 's')}"
        found.append(Spot(waits.longest_seconds, 1 / total, words))
    return tuple(found)


def distribution(shown: Sequence[Entry]) -> Figure | None:
    """Draw the share of steps that waited longer, over how long, both logarithmic."""
    lines, rows, measured = list[Line](), list[tuple[str, ...]](), 0
    for entry in shown:
        parts = [run.waits for run in entry.runs if run.waits and run.waits.counts]
        if not parts:
            continue
        measured += 1
        pooled = histograms.added(parts)
        spots = _spots(entry, pooled)
        if len(lines) < MOST_LINES and spots:
            lines.append(Line(entry.label, entry.number, spots, _longer(pooled)))
        total = sum(pooled.counts.values())
        at = [histograms.percentile(pooled, share) if total * (1 - share) >= 1 else None for share in SHARES]
        told = [said(value, "s") if value is not None else "-" for value in (*at, pooled.longest_seconds)]
        rows.append((entry.label, f"{total:,}", *told, said(pooled.total_seconds, "s")))
    if not lines:
        return None
    unit = unit_for("s", max(spot.x for line in lines for spot in line.spots) / 10)
    words = (
        "The share of steps that waited longer than so long for their batch, all runs together. Further left and lower "
        "is better; a step to the right at the bottom is a rare, long wait. Percentiles are read from classes 9 % wide."
    )
    if measured > len(lines):
        words += f" The first {len(lines)} of {measured}; all are in the table."
    title = "Waiting for a batch"
    least = min(x for line in lines for x, _ in line.path)
    y = Axis("share of steps that waited longer", Unit("%", 100), is_log=True)
    plot = Curves(title, tuple(lines), Axis("waited", unit, is_log=True, least=least), y)
    head = ("", "steps", "half within", "90 %", "99 %", "99.9 %", "longest", "in all")
    return Figure("waits", title, words, plot, Table(head, tuple(rows)), tuple(lines))


def steps(shown: Sequence[Entry]) -> Figure | None:
    """Draw the steps of one run of each, one after another."""
    tracks, rows, measured = list[Track](), list[tuple[str, ...]](), 0
    for entry in shown:
        run = next((run for run in entry.runs if run.steps and run.steps.wait_seconds), None)
        if run is None or run.steps is None:
            continue
        measured += 1
        waited, thought = run.steps.wait_seconds, run.steps.think_seconds
        if len(tracks) < MOST_TRACKS:
            tracks.append(Track(entry.label, entry.kind, waited, thought))
        longest = max(waited)
        score = run.values.get("worker_period_score")
        rows.append(
            (
                entry.label,
                f"{run.block + 1}",
                f"{len(waited):,}",
                said(sum(waited), "s"),
                said(longest, "s"),
                f"{waited.index(longest):,}",
                "-" if score is None else f"{score:.2f}",
            )
        )
    if not tracks:
        return None
    title = "Step after step"
    words = (
        "One run of each: every step's wait, and below the line what the consumer did with its batch. Each row has its "
        "own height. A saw-tooth is a loader whose workers deliver all at once; a hill at the left is its start."
    )
    if measured > len(tracks):
        words += f" The first {len(tracks)} of {measured}; all are in the table."
    head = ("", "block", "steps", "waited in all", "longest", "at step", "worker period")
    return Figure("steps", title, words, Strip(title, tuple(tracks)), Table(head, tuple(rows)))
