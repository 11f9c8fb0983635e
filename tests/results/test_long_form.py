"""Results for other tools, read with these tools."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from penstock.errors import UsageError
from penstock.results import Steps
from penstock.results.long_form import as_csv, as_markdown, export
from tests.results.made import race, run, sweep


@pytest.fixture
def study():
    return sweep({("a", 1): [10, 11], ("a", 2): [20, None]})


def test_csv_has_a_row_for_each_run_and_metric_by_name(study):
    found = list(csv.DictReader(io.StringIO(as_csv(study))))
    rates = {(row["cell"], row["block"]): float(row["value"]) for row in found if row["metric"] == "samples_per_second"}
    assert rates == {("a, workers 1", "0"): 10, ("a, workers 1", "1"): 11, ("a, workers 2", "0"): 20}
    (failed,) = (row for row in found if row["status"] == "failed")
    assert (failed["factor_workers"], failed["value"], failed["metric"]) == ("2", "", "")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_json_lines_and_parquet_have_the_same_rows(study, tmp_path, suffix):
    path = tmp_path / f"rows.{suffix}"
    export(study, path)
    if suffix == "jsonl":
        found = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        found = pq.read_table(path).to_pylist()
    assert len(found) == 3 * 3 + 1
    assert {row["factor_workers"] for row in found} == {1, 2}


def test_steps_have_a_row_each(tmp_path):
    kept = Steps(wait_seconds=(0.1, 0.2), samples=(3, 4))
    export(race({"a": [1]}, runs=(run("a", 0, 1, steps=kept), run("a", 1, 1))), tmp_path / "steps.parquet", steps=True)
    found = pq.read_table(tmp_path / "steps.parquet").to_pylist()
    assert [(row["step"], row["wait_seconds"], row["samples"]) for row in found] == [(0, 0.1, 3), (1, 0.2, 4)]


def test_markdown_is_a_table_with_verdicts():
    text = as_markdown(race({"a": [200] * 5, "b": [100, 101, 99, 100, 100], "c": [None] * 5}), "b")
    assert "| a | 200 | 200-200 | 2.00 | 1.98-2.02 | faster |" in text
    assert "| c | failed | | | | |" in text


def test_a_form_that_there_is_not_is_refused(study, tmp_path):
    with pytest.raises(UsageError, match=r"\.xlsx"):
        export(study, tmp_path / "x.xlsx")
    with pytest.raises(UsageError, match=r"expected one of \.jsonl, \.parquet"):
        export(study, tmp_path / "x.csv", steps=True)
