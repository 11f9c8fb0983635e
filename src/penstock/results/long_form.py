"""Results for other tools: one row per run and metric, or one per step, as CSV, JSON lines or Parquet; and Markdown.

Rows name their cell, system and levels, never their position. A number that was not measured has no row.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import UsageError
from penstock.results.conclusions import compared, slowest, standings
from penstock.results.metrics import metric

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from penstock.results.result import Result

__all__ = ["SUFFIXES", "as_csv", "as_markdown", "export", "rows", "step_rows"]

SUFFIXES = (".csv", ".md", ".jsonl", ".parquet")


def _cells(result: Result) -> dict[str, dict[str, Any]]:
    """Say of each cell what its rows begin with."""
    return {
        cell.name: {
            "cell": cell.name,
            "system": cell.system,
            "peer": result.system(cell.system).peer,
            **{f"factor_{name}": level for name, level in cell.levels.items()},
        }
        for cell in result.cells
    }


def rows(result: Result) -> Iterator[dict[str, Any]]:
    """Give one row per run and metric; a run without values gives one row, without a metric."""
    cells = _cells(result)
    for run in result.runs:
        head = {**cells[run.cell], "block": run.block, "position": run.position, "status": run.status}
        if not run.values:
            yield {**head, "metric": None, "value": None, "unit": None, "message": run.message}
        for name, value in run.values.items():
            yield {**head, "metric": name, "value": float(value), "unit": metric(name).unit, "message": None}


def step_rows(result: Result) -> Iterator[dict[str, Any]]:
    """Give one row per step of the runs whose steps were kept."""
    cells = _cells(result)
    for run in result.runs:
        if run.steps is None:
            continue
        head, kept = {**cells[run.cell], "block": run.block}, run.steps
        for number, wait in enumerate(kept.wait_seconds):
            think = kept.think_seconds[number] if kept.think_seconds else None
            samples = kept.samples[number] if kept.samples else None
            yield {**head, "step": number, "wait_seconds": wait, "think_seconds": think, "samples": samples}


def _columns(found: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in found for name in row))


def as_csv(result: Result) -> str:
    """Write the rows as CSV."""
    found = list(rows(result))
    out = io.StringIO()
    writer = csv.DictWriter(out, _columns(found), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return out.getvalue()


def as_markdown(result: Result, against: str | None = None) -> str:
    """Write the standings as a table in Markdown, compared with a system (the slowest by default)."""
    base, unit = against or slowest(result), metric(result.primary).unit
    ratios = {one.cell: one for one in compared(result, base)}
    lines = [f"| cell | {unit} | lowest-highest | times {base} | 95 % | verdict |", "|---|---|---|---|---|---|"]
    for one in standings(result):
        if one.middle is None:
            said = one.failures[0].splitlines()[0].partition(":")[0] if one.failures else "not measured"
            lines.append(f"| {one.cell} | {said} | | | | |")
            continue
        ratio = ratios.get(one.cell)
        between = f"{min(one.values):,.4g}-{max(one.values):,.4g}"
        interval = "" if ratio is None or ratio.interval is None else "{:.2f}-{:.2f}".format(*ratio.interval)
        times, word = (f"{ratio.middle:.2f}", ratio.verdict) if ratio else ("", "")
        lines.append(f"| {one.cell} | {one.middle:,.4g} | {between} | {times} | {interval} | {word} |")
    return "\n".join(lines) + "\n"


def export(result: Result, path: str | os.PathLike[str], *, steps: bool = False) -> None:
    """Write a result in the form that the suffix names; with `steps`, one row per step (JSON lines or Parquet)."""
    target = Path(path)
    if target.suffix not in SUFFIXES or (steps and target.suffix not in {".jsonl", ".parquet"}):
        expected = ", ".join(SUFFIXES[2:] if steps else SUFFIXES)
        raise UsageError("no such form of a result", file=str(path), got=target.suffix, expected=f"one of {expected}")
    if target.suffix == ".csv":
        target.write_text(as_csv(result), "utf-8")
    elif target.suffix == ".md":
        target.write_text(as_markdown(result), "utf-8")
    else:
        found = list(step_rows(result) if steps else rows(result))
        if target.suffix == ".jsonl":
            target.write_text("".join(json.dumps(row) + "\n" for row in found), "utf-8")
        else:
            names = _columns(found)
            table = pa.table({name: pa.array([row.get(name) for row in found]) for name in names})
            pq.write_table(table, target)
