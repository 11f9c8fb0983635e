"""Lines over two axes, even or logarithmic: rates by workers, waits by how many were longer, blocks one after another.

The key is not in the drawing: a page has it below as buttons that hide and show lines; a file gets it drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.report.plots.pen import framed, is_narrow, point, shape, tag, text, width_of
from penstock.report.plots.scale import Scale, linear, logarithmic

if TYPE_CHECKING:
    from penstock.report.units import Unit

__all__ = ["Axis", "Curves", "Level", "Line", "Spot", "key"]

HEIGHT = 300
KEY_ROW = 20


@dataclass(frozen=True, slots=True)
class Spot:
    """A number on a line that can be stepped to."""

    x: float
    y: float
    said: str
    interval: tuple[float, float] | None = None  # of y


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `path` is drawn, through the spots unless it is given; `ideal` beside it, thin."""

    name: str
    number: int
    spots: tuple[Spot, ...]
    path: tuple[tuple[float, float], ...] = ()
    ideal: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis is of."""

    words: str
    unit: Unit
    is_log: bool = False
    marks: tuple[float, ...] = ()  # where its numbers are few: these, and no others
    least: float | None = None  # of a logarithmic one

    def scale(self, values: list[float], start: float, end: float, about: int) -> Scale:
        """Lay the axis out for these values, which are in the unit of the result."""
        times = self.unit.times
        if self.is_log:
            positive = [value for value in values if value > 0]
            made = logarithmic(min([*positive, self.least or max(positive)]) * times, max(positive) * times, start, end)
        else:
            made = linear(max(values) * times, start, end, about)
        low, high, marks = made.low / times, made.high / times, tuple(mark / times for mark in made.marks)
        if self.marks:
            marks = self.marks
            if not self.is_log and min(marks) > 0:  # levels of a factor need no zero
                reach = (max(marks) - min(marks)) or 1.0
                low, high = min(marks) - 0.04 * reach, max(marks) + 0.04 * reach
        return Scale(low, high, start, end, marks, made.is_log)

    @property
    def title(self) -> str:
        """What to write at the axis."""
        is_said = self.unit.times == 1 and self.unit.name.endswith("/s") and self.words.endswith("per second")
        return self.words if is_said or self.unit.name in {"", self.words} else f"{self.words}, {self.unit.name}"


@dataclass(frozen=True, slots=True)
class Level:
    """A line across, at one y."""

    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines on common axes."""

    title: str
    lines: tuple[Line, ...]
    x: Axis
    y: Axis
    levels: tuple[Level, ...] = ()

    def svg(self, width: int, *, has_key: bool = False) -> str:
        """Draw; with `has_key`, names of the lines stand below."""
        narrow = is_narrow(width)
        top, height = 26.0, 240.0 if narrow else float(HEIGHT)
        xs = [x for line in self.lines for x in _xs(line)]
        ys = [y for line in self.lines for y in _ys(line)] + [level.y for level in self.levels]
        upright = self.y.scale(ys, top + height, top, 5)
        left = 14 + max(width_of(self.y.unit.of(mark)) for mark in upright.marks)
        across = self.x.scale(xs, left, width - 16.0, 3 if narrow else 6)
        parts = self._axes(across, upright, width, top, left)
        for line in self.lines:
            path = " ".join(
                f"{across.place(x):.1f},{upright.place(y):.1f}"
                for x, y in line.path or [(spot.x, spot.y) for spot in line.spots]
            )
            drawn = [tag("polyline", points=path, class_="line")]
            if line.ideal:
                ideal = " ".join(f"{across.place(x):.1f},{upright.place(y):.1f}" for x, y in line.ideal)
                drawn.append(tag("polyline", points=ideal, class_="ideal"))
            drawn += [_spot(spot, line, across, upright) for spot in line.spots]
            parts.append(tag("g", "".join(drawn), class_=f"series s{line.number}", data_series=line.number))
        end = top + height + 40
        if has_key:
            parts += key(self.lines, end)
            end += KEY_ROW * len(self.lines) + 4
        return framed(parts, width=width, height=end, title=self.title)

    def _axes(self, across: Scale, upright: Scale, width: int, top: float, left: float) -> list[str]:
        bottom = upright.start
        parts = [text(0, 12, self.y.title, "soft")]
        for mark in upright.marks:
            y = upright.place(mark)
            parts.append(tag("line", x1=left, x2=width - 16, y1=y, y2=y, class_="grid"))
            parts.append(text(left - 7, y + 4, self.y.unit.of(mark), "soft end"))
        free = 0.0
        for mark in across.marks:
            x, words = across.place(mark), self.x.unit.of(mark)
            parts.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
            half = width_of(words) / 2
            if x - half >= free:  # a word that would touch the one before is left out; the line is there
                parts.append(text(min(x, width - half), bottom + 16, words, "soft middle"))
                free = x + half + 4
        for level in self.levels:
            y = upright.place(level.y)
            parts.append(tag("line", x1=left, x2=width - 16, y1=y, y2=y, class_="rule", data_level=repr(level.y)))
            parts.append(text(width - 18, y - 4, level.words, "soft end"))
        parts.append(text(width - 2, bottom + 34, self.x.title, "soft end"))
        return parts


def _xs(line: Line) -> list[float]:
    return [spot.x for spot in line.spots] + [x for x, _ in (*line.path, *line.ideal)]


def _ys(line: Line) -> list[float]:
    found = [spot.y for spot in line.spots] + [y for _, y in (*line.path, *line.ideal)]
    return found + [end for spot in line.spots for end in spot.interval or ()]


def _spot(spot: Spot, line: Line, across: Scale, upright: Scale) -> str:
    x, y = across.place(spot.x), upright.place(spot.y)
    marks = [tag("circle", cx=x, cy=y, r=11, class_="hit")]
    data: dict[str, float | str] = {"x": float(spot.x), "y": float(spot.y), "name": line.name}
    if spot.interval:
        low, high = map(upright.place, spot.interval)
        marks.append(tag("path", d=f"M{x - 4:.1f} {low:.1f}h8m-4 0V{high:.1f}m-4 0h8", class_="thin"))
        data |= {"low": float(spot.interval[0]), "high": float(spot.interval[1])}
    marks.append(shape(line.number, x, y))
    return point(spot.said, "".join(marks), data=data)


def key(lines: tuple[Line, ...], y: float) -> list[str]:
    """Draw the names of lines one below the other, each with its stroke and shape."""
    drawn = []
    for row, line in enumerate(lines):
        at = y + KEY_ROW * row + 8
        stroke = tag("path", d=f"M4 {at:.1f}h30", class_="line") + shape(line.number, 19.0, at)
        drawn.append(tag("g", stroke + text(42, at + 4, line.name), class_=f"s{line.number}"))
    return drawn
