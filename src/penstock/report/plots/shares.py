"""Shares before and after, run by run: what part of the data lay in the page cache. The proof of cold, and of warm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.report.plots.bars import named
from penstock.report.plots.pen import framed, is_narrow, point, tag, text, width_of
from penstock.report.plots.scale import Scale

__all__ = ["Run", "Share", "Shares"]

Run: TypeAlias = "tuple[float | None, float | None, str]"  # before, after, in words


@dataclass(frozen=True, slots=True)
class Share:
    """One row: the runs of a cell, each from a share to a share."""

    name: str
    kind: str
    printed: str  # what was asked for, and what was found
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Shares:
    """Rows from 0 to 100 %."""

    title: str
    rows: tuple[Share, ...]

    def svg(self, width: int) -> str:
        """Draw."""
        narrow = is_narrow(width)
        row, drop = (46, 20) if narrow else (34, 0)
        left = 14.0 if narrow else min(290.0, 30 + max(width_of(share.name) for share in self.rows))
        right = width - 20.0 if narrow else width - 30 - max(width_of(share.printed) for share in self.rows)
        scale = Scale(0.0, 1.0, left, right, (0.0, 0.25, 0.5, 0.75, 1.0))
        bottom = 8 + row * len(self.rows)
        parts = []
        for mark in scale.marks:
            x = scale.place(mark)
            parts.append(tag("line", x1=x, x2=x, y1=0, y2=bottom, class_="grid"))
            parts.append(text(x, bottom + 16, f"{mark:.0%}", "soft middle"))
        for number, share in enumerate(self.rows):
            y = 6 + row * number + drop
            middle = y + 10.0
            parts.append(
                named(share.name, share.kind, left, y, narrow=narrow, room=width - 8 - width_of(share.printed))
            )
            parts.append(text(width - 4, y - 5 if narrow else y + 15, share.printed, "text end"))
            parts += [_run(run, share.name, scale, middle) for run in share.runs]
        parts.append(text(width - 2, bottom + 34, "share in the page cache; hollow: before, filled: after", "soft end"))
        return framed(parts, width=width, height=bottom + 40, title=self.title)


def _run(run: Run, name: str, scale: Scale, middle: float) -> str:
    before, after, words = run
    marks, data = list[str](), {"name": name}
    if before is not None and after is not None:
        ends = scale.place(before), scale.place(after)
        marks.append(tag("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_="whisker"))
    if after is not None:
        marks.append(tag("circle", cx=scale.place(after), cy=middle, r=4, class_="after"))
        data["after"] = repr(float(after))
    if before is not None:
        marks.append(tag("circle", cx=scale.place(before), cy=middle, r=5, class_="before"))
        data["before"] = repr(float(before))
    return point(words, "".join(marks), data=data)
