"""A number for every pair of levels of two factors: darker is more, and the number stands in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.report.plots.pen import framed, is_narrow, point, shorten, tag, text, width_of

if TYPE_CHECKING:
    from penstock.report.units import Unit

__all__ = ["Heat"]

TALL = 34
PALEST, DARKEST = 0.04, 0.5  # so that words stand out from all of them


@dataclass(frozen=True, slots=True)
class Heat:
    """Rows and columns of numbers; None where nothing was measured."""

    title: str
    down: str  # what the rows are levels of
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    unit: Unit

    def svg(self, width: int) -> str:
        """Draw."""
        left = min(24 + max(map(width_of, (self.down, *self.rows))), width * 0.3)
        wide = (width - left) / len(self.columns)
        most = max((value for row in self.values for value in row if value is not None), default=0.0)
        parts = [text(0, 34, shorten(self.down, left), "soft"), text(width, 12, self.across, "soft end")]
        for number, column in enumerate(self.columns):
            parts.append(text(left + wide * (number + 0.5), 34, shorten(column, wide - 4), "soft middle"))
        for line, (name, row) in enumerate(zip(self.rows, self.values, strict=True)):
            y = 44.0 + TALL * line
            parts.append(text(0, y + 22, shorten(name, left), "text"))
            for number, (column, value) in enumerate(zip(self.columns, row, strict=True)):
                x, where = left + wide * number, f"{self.down} {name}, {self.across} {column}"
                parts.append(self._cell(where, value, most, (x, y, wide), narrow=is_narrow(width)))
        return framed(parts, width=width, height=52 + TALL * len(self.rows), title=self.title)

    def _cell(
        self, where: str, value: float | None, most: float, box: tuple[float, float, float], *, narrow: bool
    ) -> str:
        x, y, wide = box
        place = {"x": x + 1, "y": y + 1, "width": wide - 2, "height": TALL - 2, "rx": 3}
        if value is None:
            return tag("rect", **place, class_="zone") + text(x + wide / 2, y + 22, "-", "soft middle")
        share = PALEST + (DARKEST - PALEST) * (value / most if most > 0 else 0.0)
        words = self.unit.of(value)
        marks = tag("rect", **place, class_="heat", fill_opacity=f"{share:.3f}")
        fits = width_of(words) < wide - 2
        marks += text(x + wide / 2, y + 22, words, "text middle" if fits or not narrow else "text middle small")
        return point(f"{where}: {self.unit.say(value)}", marks, data={"value": float(value), "where": where})
