"""Which plots results have, and the table beside each: the same numbers, for those who cannot or would not see a plot.

A figure is there when something of it was measured; nothing is drawn of what is absent.
"""

from penstock.report.figures.all import figures
from penstock.report.figures.figure import Figure, Table

__all__ = ["Figure", "Table", "figures"]
