"""A plane of two numbers, a disc for every system, larger with more memory; the front is who nobody beats on both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.report.plots.pen import framed, is_narrow, point, shape, shorten, tag, text, width_of
from penstock.report.plots.scale import linear

if TYPE_CHECKING:
    from penstock.report.plots.curves import Axis

__all__ = ["Place", "Plane", "front"]

LARGEST = 26.0  # radius


@dataclass(frozen=True, slots=True)
class Place:
    """One system."""

    name: str
    number: int
    x: float  # less is better
    y: float  # more is better
    said: str
    size: float | None = None  # what the area of its disc stands for


def front(places: tuple[Place, ...]) -> list[Place]:
    """List those that no other beats on both axes, from left to right."""
    found: list[Place] = []
    for place in sorted(places, key=lambda place: (place.x, -place.y)):
        if not found or place.y > found[-1].y:
            found.append(place)
    return found


@dataclass(frozen=True, slots=True)
class Plane:
    """Systems by what they cost and what they give."""

    title: str
    places: tuple[Place, ...]
    x: Axis
    y: Axis

    def svg(self, width: int) -> str:
        """Draw."""
        top, height = 30.0, 280.0 if is_narrow(width) else 340.0
        x, y = self.x.unit, self.y.unit
        upright = linear(1.08 * max(place.y for place in self.places) * y.times, top + height, top)
        left = 14 + max(width_of(y.of(mark / y.times)) for mark in upright.marks)
        across = linear(1.08 * max(place.x for place in self.places) * x.times, left, width - 16.0, 4)
        parts = [text(0, 12, self.y.title, "soft"), text(width - 2, top + height + 34, self.x.title, "soft end")]
        for mark in upright.marks:
            at = upright.place(mark)
            parts.append(tag("line", x1=left, x2=width - 16, y1=at, y2=at, class_="grid"))
            parts.append(text(left - 7, at + 4, y.of(mark / y.times), "soft end"))
        for mark in across.marks:
            at = across.place(mark)
            parts.append(tag("line", x1=at, x2=at, y1=top, y2=top + height, class_="grid"))
            parts.append(text(at, top + height + 16, x.of(mark / x.times), "soft middle"))
        best = [(across.place(one.x * x.times), upright.place(one.y * y.times)) for one in front(self.places)]
        if len(best) > 1:
            parts.append(tag("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in best), class_="rule"))
        most = max((place.size or 0.0 for place in self.places), default=0.0)
        names, taken = [], list[tuple[float, float, float]]()
        for place in sorted(self.places, key=lambda place: -(place.size or 0.0)):
            at, down = across.place(place.x * x.times), upright.place(place.y * y.times)
            radius = LARGEST * math.sqrt(place.size / most) if place.size and most else 0.0
            marks = [tag("circle", cx=at, cy=down, r=max(radius, 11.0), class_="hit")]
            if radius:
                marks.append(tag("circle", cx=at, cy=down, r=radius, class_="disc"))
            marks.append(shape(place.number, at, down))
            data: dict[str, float | str] = {"x": float(place.x), "y": float(place.y), "name": place.name}
            if place.size:
                data["size"] = float(place.size)
            drawn = point(place.said, "".join(marks), data=data)
            parts.append(tag("g", drawn, class_=f"series s{place.number}", data_series=place.number))
            name = _name(place, (at, down), max(radius, 6.0), width, taken)
            names.append(tag("g", name, class_="series", data_series=place.number))
        parts += [] if is_narrow(width) else names  # phones have them in the key below
        return framed(parts, width=width, height=top + height + 40, title=self.title)


def _name(
    place: Place, at: tuple[float, float], away: float, width: int, taken: list[tuple[float, float, float]]
) -> str:
    """Write a name beside its disc, on the side with room, lower where another name is."""
    (x, y), words = at, shorten(place.name, width / 2)
    long = width_of(words)
    start = x + away + 4 if x + away + 4 + long <= width else max(x - away - 4 - long, 0.0)
    down = y + 4
    while any(abs(down - b) < 15 and start < c and a < start + long for a, b, c in taken):
        down += 15
    taken.append((start, down, start + long))
    return text(start, down, words, "text halo")
