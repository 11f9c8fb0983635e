"""Racing: blocks, failures, refusals, interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench import Case, race
from penstock.bench.peers import PEERS, load
from penstock.bench.run import ask, command
from penstock.bench.study import schedule, twins
from penstock.errors import UsageError
from penstock.results import from_json, read, standings, to_json
from penstock.testing import write_photos


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.integers(1, 6), st.integers(0, 99))
def test_every_block_runs_every_cell_once_and_the_seed_decides_the_order(names, blocks, seed):
    told = twins(names)
    drawn = schedule(told, blocks, seed)
    assert len(set(told)) == len(names)
    assert len(drawn) == blocks
    assert all(sorted(order) == sorted(told) for order in drawn)
    assert drawn == schedule(told, blocks, seed)


def test_a_peer_named_twice_gets_a_twin():
    assert twins(["a", "b", "a"]) == ["a", "b", "a#2"]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("race") / "photos"
    write_photos(folder, count=24, classes=2)
    return Case.of(str(folder), size=32, batch_size=5, workers=1, epochs=1)


def test_a_race_of_one_that_works_and_one_that_cannot_be_done_here(case, tmp_path):
    events = []
    result = race(case, ["pytorch", "dali"], blocks=1, environments=tmp_path, watch=events.append)
    good, bad = standings(result)
    assert (good.cell, len(good.values)) == ("pytorch", 1)
    assert (bad.cell, bad.middle) == ("dali", None)
    assert bad.failures[0].startswith("refused: No module named 'nvidia")
    assert "penstock race --setup dali" in bad.failures[0]
    assert result.manifest["data"]["samples"] == 24
    assert result.command.startswith("penstock race photos --peers pytorch,dali --blocks 1 --epochs 1 --workers 1")
    assert case.data not in json.dumps(to_json(result)), "where the data lies is nobody's business"
    assert from_json(json.loads(json.dumps(to_json(result)))) == result
    kinds = [event.kind for event in events]
    assert (kinds.count("prepare"), kinds.count("begin"), kinds.count("end")) == (2, 2, 2)


def test_a_run_shows_its_gates_its_cache_its_waits_and_its_cost(case):
    (run,) = race(case, ["penstock"], blocks=1).runs
    assert run.is_ok, run.message
    gates = {gate.name for gate in run.gates}
    assert gates == {"pairing", "crops", "flips", "samples", "shuffled", "reshuffled", "cpus", "cache"}
    assert all(gate.passed for gate in run.gates)
    assert (run.cache.asked, run.cache.found) == ("warm", "warm")
    assert sum(run.waits.counts.values()) == len(run.steps.wait_seconds) == 5
    assert run.values["samples"] == 24
    assert run.values["samples_per_second"] == pytest.approx(24 / run.values["seconds"])
    assert run.values["payload_bytes"] > 0
    assert run.values["delivered_bytes"] == 24 * 3 * 32 * 32
    start = sum(run.values[name] for name in ("construct_seconds", "start_seconds", "fetch_first_seconds"))
    assert run.values["first_batch_seconds"] == pytest.approx(start)
    assert [epoch.counted for epoch in run.epochs] == [False, True]


def test_a_factor_is_varied_and_a_twin_raced(case):
    result = race(case, ["synthetic", "synthetic"], blocks=1, sweep={"batch_size": [4, 8]})
    assert {cell.name for cell in result.cells} == {
        f"{name}, batch_size {size}" for name in ("synthetic", "synthetic#2") for size in (4, 8)
    }
    assert sorted(len(run.steps.wait_seconds) for run in result.runs) == [3, 3, 6, 6]
    assert "--sweep batch_size=4,8" in result.command
    assert "batch_size" not in result.work


def test_some_batches_are_measured_apart_from_the_first(case):
    (run,) = race(replace(case, batches=7), ["synthetic"], blocks=1).runs
    assert run.is_ok, run.message
    assert len(run.steps.wait_seconds) == 7


def test_a_child_past_its_deadline_is_a_run_that_says_so(case):
    answer = ask({"task": "time", "peer": "pytorch", "case": case.to_json()}, deadline_seconds=0.01)
    assert answer["status"] == "hung"
    assert "killed after" in answer["message"]


def test_a_child_in_an_environment_without_penstock_does_the_same(case):
    request = {"task": "time", "peer": "synthetic", "case": case.to_json(), "cpus": 1}
    answer = ask(request, started_by=command(Path(sys.executable)))
    assert answer["status"] == "ok", answer["message"]
    assert answer["values"]["samples"] == 24
    alone = ask({**request, "case": {**case.to_json(), "model": "resnet18"}}, started_by=command(Path(sys.executable)))
    assert (alone["status"], "environment of its own" in alone["message"]) == ("refused", True)


def test_a_child_that_is_killed_says_by_what(case, tmp_path):
    killer = tmp_path / "killer.py"
    killer.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    answer = ask({}, started_by=[sys.executable, str(killer), ""])
    assert answer == {"status": "failed", "message": "ended by signal 9 (out of memory, perhaps)"}


def test_more_workers_than_cpus_are_a_failure_that_says_so(case):
    (run,) = race(replace(case, workers=4096), ["synthetic"], blocks=1).runs
    assert run.status == "failed"
    assert "more workers than CPUs" in run.message


def test_ctrl_c_keeps_what_was_measured_and_leaves_no_process(case, tmp_path):
    out = tmp_path / "race.json"
    penstock = Path(sys.executable).with_name("penstock")
    options = ["--peers", "synthetic", "--blocks", "500", "--epochs", "1", "--workers", "1", "--out", str(out)]
    with subprocess.Popen([penstock, "race", case.data, *options], stderr=subprocess.PIPE, text=True) as race_:
        assert "1/500" in next(line for line in race_.stderr if line.strip())
        race_.send_signal(signal.SIGINT)
        race_.communicate(timeout=60)
    assert race_.returncode == 130
    result = read(out)
    assert result.status == "interrupted"
    assert {run.status for run in result.runs[:-1]} <= {"ok"}  # the last one, if it had begun, is the interrupted one
    assert result.runs[0].is_ok


def test_an_unknown_peer_is_refused_before_anything_runs(case):
    with pytest.raises(UsageError, match="no such peer"):
        race(case, ["penstok"])
    with pytest.raises(UsageError, match="no such peer"):
        load("penstok")


def test_what_was_measured_before_an_interruption_is_the_result(case, monkeypatch):
    asked = []

    def ask_twice(request, **_):
        asked.append(request)
        if request["task"] == "prepare":
            return {"status": "ok", "form": None}
        if len(asked) == 4:
            raise KeyboardInterrupt
        return {"status": "ok", "values": {"samples_per_second": 1.0}, "gates": []}

    for name in ("study", "race"):
        monkeypatch.setattr(sys.modules[f"penstock.bench.{name}"], "ask", ask_twice)
    result = race(case, ["synthetic"], blocks=5)
    assert result.status == "interrupted"
    assert [run.status for run in result.runs] == ["ok", "ok", "interrupted"]
    assert any(finding.name == "interrupted" for finding in result.findings)


def test_a_form_older_than_the_data_is_a_failure(tmp_path):
    write_photos(tmp_path / "photos", count=4, classes=1)
    case = Case.of(str(tmp_path / "photos"), size=32, batch_size=2, workers=1, epochs=1)
    assert race(case, ["penstock"], blocks=1).runs[0].is_ok
    changed = next((tmp_path / "photos").rglob("*.jpg"))
    later = time.time_ns() + 10**9
    os.utime(changed, ns=(later, later))
    (run,) = race(case, ["penstock"], blocks=1).runs
    assert run.status == "failed"
    assert "older than the data" in run.message


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_says_what_it_is_without_its_library(name):
    peer = load(name)
    assert peer.LABEL
    assert peer.SETTINGS
    assert peer.DISTRIBUTIONS
    assert peer.__doc__
