"""Ratios within blocks on a doubling axis: a dot for every block, the interval, and the band that means nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.report.plots.bars import named
from penstock.report.plots.pen import framed, is_narrow, point, shorten, tag, text, width_of
from penstock.report.plots.scale import Scale

__all__ = ["Ratio", "Ratios"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """One row: how many times the base."""

    name: str
    kind: str
    value: float
    said: str
    dots: tuple[float, ...]
    interval: tuple[float, float] | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Ratios:
    """Rows of ratios, and the half-width of the band around 1 in which they mean nothing."""

    title: str
    rows: tuple[Ratio, ...]
    band: float
    base: str

    def _scale(self, left: float, right: float) -> Scale:
        all_ = [value for row in self.rows for value in (row.value, *row.dots, *(row.interval or ()))]
        all_ += [1 / (1 + self.band), 1 + self.band]
        # Half doublings at the ends; labels at doublings, or at halves of them where these are few.
        low, high = math.floor(math.log2(min(all_)) * 2) / 2, math.ceil(math.log2(max(all_)) * 2) / 2
        most = max(int((right - left) / 58), 2)
        step = next(step for step in (0.5, 1, 2, 3, 4, 6, 8, 12) if (high - low) / step <= most)
        halves = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
        return Scale(2**low, 2**high, left, right, tuple(2**half for half in halves), is_log=True)

    def svg(self, width: int) -> str:
        """Draw."""
        narrow = is_narrow(width)
        row, drop = (46, 20) if narrow else (34, 0)
        printed = [f"{ratio.value:.2f}x {ratio.verdict}".strip() for ratio in self.rows]
        left = 24.0 if narrow else min(290.0, 24 + max(width_of(ratio.name) for ratio in self.rows))
        right = width - 24.0 if narrow else width - 40 - max(map(width_of, printed))
        scale = self._scale(left, right)
        bottom = 8 + row * len(self.rows)
        low, high = scale.place(1 / (1 + self.band)), scale.place(1 + self.band)
        parts = [tag("rect", x=low, y=0, width=high - low, height=bottom, class_="zone", data_band=repr(self.band))]
        for mark in scale.marks:
            x = scale.place(mark)
            parts.append(tag("line", x1=x, x2=x, y1=0, y2=bottom, class_="rule" if mark == 1 else "grid"))
            parts.append(text(x, bottom + 16, f"{mark:.3g}x", "soft middle"))
        for number, (ratio, words) in enumerate(zip(self.rows, printed, strict=True)):
            y = 6 + row * number + drop
            middle = y + 10.0
            parts.append(named(ratio.name, ratio.kind, left, y, narrow=narrow, room=width - 8 - width_of(words)))
            marks = [tag("rect", x=0, y=y - 6 - drop, width=width, height=row, class_="hit")]
            if ratio.interval:
                ends = [scale.place(end) for end in ratio.interval]
                marks.append(
                    tag("path", d=f"M{ends[0]:.1f} {middle - 6}v12m0-6H{ends[1]:.1f}m0-6v12", class_="whisker")
                )
            marks += [
                tag("circle", cx=scale.place(dot), cy=middle, r=3, class_="dot", data_value=repr(dot))
                for dot in ratio.dots
            ]
            x = scale.place(ratio.value)
            marks.append(tag("path", d=f"M{x - 7:.1f} {middle}l7 -7l7 7l-7 7z", class_=f"bar {ratio.kind}"))
            style = "text bold" if ratio.kind == "ours" else "text"
            marks.append(text(width - 4, y - 5 if narrow else y + 15, words, f"{style} end"))
            data: dict[str, float | str] = {"value": float(ratio.value), "name": ratio.name, "verdict": ratio.verdict}
            if ratio.interval:
                data |= {"low": float(ratio.interval[0]), "high": float(ratio.interval[1])}
            parts.append(point(ratio.said, "".join(marks), kind="ratio-row", data=data))
        words = "grey: means nothing"
        words = f"times {shorten(self.base, width - width_of(words) - 60)}; {words}"
        parts.append(text(width, bottom + 34, words, "soft end"))
        return framed(parts, width=width, height=bottom + 40, title=self.title)
