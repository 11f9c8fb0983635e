"""What it costs: rate over processor time, with memory as the size of a disc."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.entries import titled
from penstock.report.figures.figure import Figure, Table
from penstock.report.plots import Axis, Line, Place, Plane
from penstock.report.plots.plane import front
from penstock.report.units import said, unit_for
from penstock.results import metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.entries import Entry

__all__ = ["plane"]

COST = "cpu_seconds_per_thousand"


def plane(shown: Sequence[Entry], name: str) -> Figure | None:
    """Draw a rate over the processor time of a sample, of all that have both."""
    places = []
    for entry in shown:
        rate, cost, memory = (entry.middle(one) for one in (name, COST, "memory_bytes"))
        if rate is None or cost is None or metric(name).better != "more":
            continue
        words = f"{entry.label}: {said(rate, metric(name).unit)}, {said(cost, metric(COST).unit)} of processor time"
        words += f", {said(memory, 'B')} of memory" if memory else ""
        places.append(Place(entry.label, entry.number, cost, rate, words, memory))
    if len(places) < 2:
        return None
    across, up = unit_for(metric(COST).unit, 1), unit_for(metric(name).unit, max(place.y for place in places))
    title = "What it costs"
    plot = Plane(title, tuple(places), Axis("processor time", across), Axis(titled(name), up))
    best = {place.name for place in front(tuple(places))}
    rows = [
        (
            place.name,
            up.of(place.y),
            across.of(place.x),
            said(place.size, "B") if place.size else "-",
            "yes" if place.name in best else "no",
        )
        for place in places
    ]
    words = (
        "Higher and further left is better. Processor time is that of all processes and threads, per delivered sample; "
        "the area of a disc is the most memory seen. The dashed line joins those whom no other beats on both."
    )
    head = ("", titled(name), f"processor time, {across.name}", "memory", "beaten by none on both")
    lines = tuple(Line(place.name, place.number, ()) for place in places)
    return Figure(f"costs-{name}", title, words, plot, Table(head, tuple(rows)), lines)
