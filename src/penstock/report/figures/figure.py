"""A figure: a plot, how to read it, and its numbers as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from penstock.report.plots import Line

__all__ = ["Figure", "Plot", "Table"]


class Plot(Protocol):
    """Something that can be drawn."""

    @property
    def title(self) -> str:
        """What it is called by those who read it aloud."""

    def svg(self, width: int) -> str:
        """Draw it."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of words; the first column names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot with everything around it."""

    name: str  # of its file and its place on the page
    title: str
    words: str  # how to read it
    plot: Plot
    table: Table
    lines: tuple[Line, ...] = ()  # that a reader may want to hide
