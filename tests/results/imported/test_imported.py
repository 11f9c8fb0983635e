"""Results of other tools."""

from __future__ import annotations

import json

import pytest

from penstock.errors import FormatError
from penstock.results import write
from penstock.results.imported import read_any, read_foreign
from tests.results.made import race


def dlll(step, kind="LOG", **data):
    line = {"timestamp": "1", "datetime": "2021", "elapsedtime": "1", "type": kind, "step": step, "data": data}
    return "DLLL " + json.dumps(line)


@pytest.fixture
def stream(tmp_path):
    lines = [dlll(["P"], arch="resnet50", batch_size=256, workers=4, data_loader="dali-cpu")]
    for epoch, wait in ((0, 0.5), (1, 0.1)):
        for iteration in (0, 1):
            # Two verbosities, as there: the speeds are means of rates, and not looked at.
            lines.append(dlll(["T", epoch, iteration], **{"t.data_time": wait, "t.iteration_time": 1.0}))
            lines.append(dlll(["T", epoch, iteration], **{"t.data_speed": 256424.0, "t.loss": 6.9}))
        lines.append(dlll(["E", epoch], **{"e.total_time": "1251.85876 s"}))
    lines.append(dlll(["X"], kind="METADATA", unit="s"))
    path = tmp_path / "experiment_report.json"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_stream_of_dllogger_becomes_a_run_per_epoch(stream):
    result = read_foreign(stream)
    assert [run.values["samples_per_second"] for run in result.runs] == [256, 256]
    assert [run.values["stall_share"] for run in result.runs] == pytest.approx([0.5, 0.1])
    assert result.runs[1].steps.wait_seconds == (0.1, 0.1)
    assert result.runs[0].epochs[0].seconds == 1251.85876
    assert (result.kind, result.work["workers"]) == ("imported", 4)
    assert result.systems[0].peer == "dali-cpu"


@pytest.mark.parametrize("wrong", ["DLLL {", "DLLL 3", "no prefix", 'DLLL {"step": 1}'])
def test_a_line_that_is_none_is_refused_by_its_number(stream, wrong):
    stream.write_text(stream.read_text() + "\n" + wrong + "\n")
    with pytest.raises(FormatError, match=r"line \d+ is not of a DLLogger stream"):
        read_foreign(stream)


def test_a_stream_without_an_iteration_is_refused(tmp_path):
    (tmp_path / "x.json").write_text(dlll(["P"], batch_size=1))
    with pytest.raises(FormatError, match="no training iteration"):
        read_foreign(tmp_path / "x.json")


def summary(**metric):
    return {
        "num_accelerators": 4,
        "num_hosts": 1,
        "host_memory_GB": [128],
        "host_cpu_count": 64,
        "num_files_train": 1000,
        "num_samples_per_file": 2,
        "start": "2024-01-01",
        "metric": metric,
    }


@pytest.mark.parametrize(
    ("metric", "rates", "use"),
    [
        (
            {"train_throughput_samples_per_second": [10.0, 12.0], "train_au_percentage": [97.0, 95.0]},
            [10, 12],
            [0.97, 0.95],
        ),
        ({"train_throughput_samples_per_second": "10.0 12.0", "train_au_percentage": "97 95"}, [10, 12], [0.97, 0.95]),
        ({"train_throughput_mean_samples_per_second": 11.0, "train_au_mean_percentage": 96.0}, [11], [0.96]),
    ],
)
def test_a_summary_of_dlio_with_epochs_or_only_their_mean(tmp_path, metric, rates, use):
    (tmp_path / "summary.json").write_text(json.dumps(summary(**metric)))
    result = read_foreign(tmp_path / "summary.json")
    assert [run.values["samples_per_second"] for run in result.runs] == rates
    assert [run.values["accelerator_use"] for run in result.runs] == pytest.approx(use)
    assert result.manifest["data"]["samples"] == 2000
    assert result.manifest["machine"] == {"cpus": 64, "memory_bytes": 128 * 10**9}


@pytest.mark.parametrize("value", [{}, [], {"metric": {}}, {"metric": {"train_au_percentage": True}}])
def test_what_is_no_summary_is_refused(tmp_path, value):
    (tmp_path / "x.json").write_text(json.dumps(value))
    with pytest.raises(FormatError, match="summary"):
        read_foreign(tmp_path / "x.json")


def test_ours_and_theirs_are_told_apart_and_a_broken_one_of_ours_is_named_as_such(stream, tmp_path):
    write(race({"a": [1]}), tmp_path / "ours.json")
    assert read_any(tmp_path / "ours.json").kind == "race"
    assert read_any(stream).kind == "imported"
    (tmp_path / "broken.json").write_text('{"format": "penstock-results", "version": 1}')
    with pytest.raises(FormatError, match="lacks something"):
        read_any(tmp_path / "broken.json")
