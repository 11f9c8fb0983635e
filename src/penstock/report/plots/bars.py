"""Bars from zero: one number per system, its interval where there is one, a dot for every block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.report.plots.pen import framed, is_narrow, point, shorten, tag, text, width_of
from penstock.report.plots.scale import linear

if TYPE_CHECKING:
    from penstock.report.units import Unit

__all__ = ["Bar", "Bars", "named"]

THICK = 20
BOLD = 0.88  # of the room of other words, bold ones have


@dataclass(frozen=True, slots=True)
class Bar:
    """One row."""

    name: str
    kind: str  # "ours", "other" or "bound"
    value: float
    said: str  # the whole in words
    dots: tuple[float, ...] = ()
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Rows of bars; `level` is a line across all, with its words."""

    title: str
    rows: tuple[Bar, ...]
    unit: Unit
    level: tuple[float, str] | None = field(default=None)

    def svg(self, width: int) -> str:
        """Draw."""
        narrow = is_narrow(width)
        row, drop = (46, 20) if narrow else (34, 0)  # names stand above their bars, or beside them
        printed = [self.unit.of(bar.value) for bar in self.rows]
        left = 2.0 if narrow else min(290.0, 20 + max(width_of(bar.name) for bar in self.rows))
        right = width - 22 - max(map(width_of, printed))
        top = max(max((bar.value, *bar.dots, *(bar.interval or ()))) for bar in self.rows)
        scale = linear(max(top, self.level[0] if self.level else 0), left, right, about=3 if narrow else 5)
        bottom = 8 + row * len(self.rows)
        parts = []
        for mark in scale.marks:
            x = scale.place(mark)
            parts.append(tag("line", x1=x, x2=x, y1=0, y2=bottom, class_="grid"))
            parts.append(text(x, bottom + 16, self.unit.of(mark), "soft middle" if mark else "soft"))
        if self.level:
            x = scale.place(self.level[0])
            parts.append(tag("line", x1=x, x2=x, y1=0, y2=bottom, class_="rule", data_level=repr(self.level[0])))
        for number, (bar, words) in enumerate(zip(self.rows, printed, strict=True)):
            y = 6 + row * number + drop
            parts.append(named(bar.name, bar.kind, left, y, narrow=narrow, room=width))
            start, end = scale.place(0), scale.place(bar.value)
            marks = [
                tag("rect", x=0, y=y - 6 - drop, width=width, height=row, class_="hit"),
                tag("rect", x=start, y=y, width=max(end - start, 0.5), height=THICK, rx=2, class_=f"bar {bar.kind}"),
            ]
            middle = y + THICK / 2
            if bar.interval:
                low, high = map(scale.place, bar.interval)
                marks.append(tag("path", d=f"M{low:.1f} {middle - 5}v10m0-5H{high:.1f}m0-5v10", class_="whisker"))
            marks += [
                tag("circle", cx=scale.place(dot), cy=middle, r=3, class_="dot", data_value=repr(dot))
                for dot in bar.dots
            ]
            end = max(scale.place(most) for most in (bar.value, *bar.dots, *(bar.interval or ())))
            marks.append(text(end + 9, y + 15, words, "text bold" if bar.kind == "ours" else "text"))
            data: dict[str, float | str] = {"value": float(bar.value), "name": bar.name}
            if bar.interval:
                data |= {"low": float(bar.interval[0]), "high": float(bar.interval[1])}
            parts.append(point(bar.said, "".join(marks), kind="bar-row", data=data))
        words = self.unit.name if self.level is None else f"{self.unit.name}; dashed: {self.level[1]}"
        parts.append(text(width, bottom + 34, words.removeprefix("; "), "soft end"))
        return framed(parts, width=width, height=bottom + 40, title=self.title)


def named(name: str, kind: str, left: float, y: float, *, narrow: bool, room: float) -> str:
    """Write a row's name: beside the marks, or above them."""
    style = {"ours": "text bold", "bound": "text slanted"}.get(kind, "text")
    share = BOLD if kind == "ours" else 1.0
    if narrow:
        return text(2, y - 5, shorten(name, share * (room - 6)), style)
    return text(left - 12, y + 15, shorten(name, share * (left - 14)), f"{style} end")
