"""Runs as CSV: one row per run, a column per factor and per metric; for a spreadsheet or a data frame."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.entries import Study

__all__ = ["as_csv"]

FIXED = ("result", "cell", "system", "block", "position", "status", "message")


def as_csv(shown: Sequence[Study]) -> str:
    """Write all runs of all studies; what was not measured stays empty."""
    factors = dict.fromkeys(factor.name for study in shown for factor in study.result.factors)
    metrics = dict.fromkeys(name for study in shown for run in study.result.runs for name in run.values)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*FIXED, *factors, *metrics])
    for study in shown:
        cells = {cell.name: cell for cell in study.result.cells}
        for run in study.result.runs:
            cell = cells[run.cell]
            row = [study.name or study.result.title, run.cell, cell.system, run.block, run.position, run.status]
            row += [run.message, *(cell.levels.get(name, "") for name in factors)]
            writer.writerow([*row, *(run.values.get(name, "") for name in metrics)])
    return text.getvalue()
