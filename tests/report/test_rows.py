"""Runs as CSV, read by pandas' own engine: pyarrow's."""

from __future__ import annotations

import io

from pyarrow import csv

from penstock.report.entries import studies
from penstock.report.rows import as_csv
from tests.report.made import race, sweep


def test_every_run_is_a_row_and_every_value_is_whole():
    results = [race(), sweep()]
    table = csv.read_csv(io.BytesIO(as_csv(studies(results, ["one", "two"])).encode())).to_pylist()
    runs = [run for result in results for run in result.runs]
    assert len(table) == len(runs)
    for row, run in zip(table, runs, strict=True):
        assert (row["cell"], row["block"], row["status"]) == (run.cell, run.block, run.status)
        assert row["samples_per_second"] == run.values.get("samples_per_second")
    assert {row["workers"] for row in table} == {None, 1, 2, 4, 8}
