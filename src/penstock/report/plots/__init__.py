"""Plots as SVG text. Pure: values in, a drawing out; which values, `figures` says.

A drawing is made for a width, and pages hold two of each: one for desks, one for phones. Every mark that means a
number carries that number in `data-` attributes, unrounded, and its meaning in words as its label, so that whoever
hears the page, steps through it by keyboard, or tests it, gets what the eye gets. Meaning never hangs on colour alone.
"""

from penstock.report.plots.bars import Bar, Bars
from penstock.report.plots.curves import Axis, Curves, Level, Line, Spot
from penstock.report.plots.heat import Heat
from penstock.report.plots.plane import Place, Plane
from penstock.report.plots.ratios import Ratio, Ratios
from penstock.report.plots.shares import Share, Shares
from penstock.report.plots.strip import Strip, Track

__all__ = [
    "Axis",
    "Bar",
    "Bars",
    "Curves",
    "Heat",
    "Level",
    "Line",
    "Place",
    "Plane",
    "Ratio",
    "Ratios",
    "Share",
    "Shares",
    "Spot",
    "Strip",
    "Track",
]
