"""Results to JSON and back."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import FormatError, UsageError
from penstock.results import (
    Cache,
    Cell,
    Epoch,
    Factor,
    Finding,
    Gate,
    Result,
    Run,
    Steps,
    System,
    from_json,
    read,
    standings,
    to_json,
    waits,
    write,
)
from tests.bench.results import result as former
from tests.results.made import race

ROOT = Path(__file__).parent.parent.parent
WORDS = st.text(max_size=8)
NUMBERS = st.floats(0, 1e9)
RUNS = st.builds(
    Run,
    cell=st.just("a"),
    block=st.integers(0, 9),
    position=st.integers(0, 9),
    status=st.sampled_from(["ok", "failed", "hung", "refused", "interrupted"]),
    message=WORDS,
    values=st.dictionaries(st.sampled_from(["samples_per_second", "seconds", "unheard_of"]), NUMBERS),
    gates=st.lists(st.builds(Gate, name=WORDS, passed=st.booleans(), got=WORDS), max_size=3).map(tuple),
    cache=st.none() | st.builds(Cache, asked=st.just("cold"), found=st.just("mixed"), resident_before=st.floats(0, 1)),
    waits=st.none() | st.lists(st.floats(0, 10), min_size=1, max_size=9).map(waits.count),
    epochs=st.lists(st.builds(Epoch, samples=st.integers(0), seconds=NUMBERS, counted=st.booleans())).map(tuple),
    steps=st.none() | st.builds(Steps, wait_seconds=st.lists(NUMBERS, min_size=1).map(tuple)),
    raw=st.dictionaries(WORDS, st.integers() | WORDS, max_size=2),
)
RESULTS = st.builds(
    Result,
    kind=st.sampled_from(["race", "bench"]),
    title=WORDS,
    command=WORDS,
    primary=st.just("samples_per_second"),
    systems=st.just((System(name="a", peer="a", label="A", versions={"a": "1"}, form_bytes=3),)),
    cells=st.just((Cell(name="a", system="a", levels={"workers": 1}),)),
    factors=st.just((Factor(name="workers", levels=(1, 2)),)),
    runs=st.lists(RUNS, max_size=3).map(tuple),
    is_quick=st.booleans(),
    findings=st.lists(st.builds(Finding, name=WORDS, severity=st.just("note"), message=WORDS), max_size=2).map(tuple),
)


@given(RESULTS)
def test_a_result_comes_back_as_it_was_written(result):
    assert from_json(json.loads(json.dumps(to_json(result), allow_nan=False))) == result


def test_a_file_is_written_whole_and_read_back(tmp_path):
    result = race({"a": [3.0, 4.0], "b": [1.0, None]})
    write(result, tmp_path / "race.json")
    assert read(tmp_path / "race.json") == result
    assert [path.name for path in tmp_path.iterdir()] == ["race.json"]


def test_a_number_that_is_not_finite_is_never_written_and_leaves_no_file(tmp_path):
    result = race({"a": [3.0]})
    run = replace(result.runs[0], values={"seconds": float("inf")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write(replace(result, runs=(run,)), tmp_path / "race.json")
    assert list(tmp_path.iterdir()) == []


def test_a_field_from_the_future_is_ignored():
    value = to_json(race({"a": [3.0]}))
    value["colour"] = "red"
    value["runs"][0]["colour"] = "red"
    assert from_json(value) == race({"a": [3.0]})


@pytest.mark.parametrize("lacking", ["kind", "cells", "runs", "systems", "primary"])
def test_a_result_that_lacks_something_is_refused_by_name(lacking):
    value = to_json(race({"a": [3.0]}))
    del value[lacking]
    with pytest.raises(FormatError, match=f"lacks something.*{lacking}"):
        from_json(value, file="x.json")


@pytest.mark.parametrize(
    ("value", "said"),
    [([], "format 'list'"), ({}, "format None"), ({"format": "penstock-results", "version": 2}, "another version")],
)
def test_what_is_no_result_of_this_version_is_refused(value, said):
    with pytest.raises(FormatError, match=said):
        from_json(value)


def test_a_run_of_an_unlisted_cell_and_a_cell_of_an_unlisted_system_are_refused():
    value = to_json(race({"a": [3.0]}))
    with pytest.raises(FormatError, match="a run of a cell that is not listed: got b"):
        from_json({**value, "runs": [{**value["runs"][0], "cell": "b"}]})
    with pytest.raises(FormatError, match="a cell of a system that is not listed: got b"):
        from_json({**value, "cells": [*value["cells"], {"name": "b", "system": "b"}]})


def test_a_missing_file_and_one_that_is_not_json_are_named(tmp_path):
    (tmp_path / "x.json").write_text("no")
    with pytest.raises(FormatError, match=r"not JSON(.|\n)*x\.json"):
        read(tmp_path / "x.json")
    with pytest.raises(UsageError, match=r"no such result(.|\n)*y\.json"):
        read(tmp_path / "y.json")


def test_the_example_of_the_specification_is_a_result():
    text = (ROOT / "docs/format/results-v1.md").read_text()
    example = from_json(json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1]))
    assert [run.status for run in example.runs] == ["ok", "hung"]
    assert waits.percentile(example.runs[0].waits, 0.5) == pytest.approx(0.001024)


def test_every_field_is_in_the_specification():
    text = (ROOT / "docs/format/results-v1.md").read_text()
    for kind in (Result, Run, Gate, Cache, Epoch, Steps, System, Cell, Factor, Finding, waits.Waits):
        for name in kind.__dataclass_fields__:
            assert f"`{name}`" in text, f"{kind.__name__}.{name}"


def test_a_race_of_the_former_kind_is_read_with_the_same_numbers():
    result = from_json(former({"penstock": [3.0, None], "turbo": [1.0, 2.0], "turbo#2": [1.0, 1.0]}))
    assert [(one.cell, one.values) for one in standings(result)] == [
        ("penstock", (3.0,)),
        ("turbo", (1.0, 2.0)),
        ("turbo#2", (1.0, 1.0)),
    ]
    assert [system.kind for system in result.systems] == ["ours", "bound", "bound"]
    assert result.runs[0].values["cpu_seconds_per_thousand"] == 2.0
    assert from_json(to_json(result)) == result


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks/results").glob("*.json")), ids=lambda path: path.stem)
def test_every_published_race_is_read(path):
    value = json.loads(path.read_text())
    if value.get("kind") != "race":
        with pytest.raises(FormatError, match="not a result"):
            from_json(value)
        return
    result = from_json(value)
    assert len(result.runs) == len(value["runs"])
    best = max((run for run in value["runs"] if run["status"] == "ok"), key=lambda run: run["rate"])
    assert max(run.values["samples_per_second"] for run in result.runs if run.is_ok) == best["rate"]
