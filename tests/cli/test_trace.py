"""`penstock trace`."""

from __future__ import annotations

import gzip
import json

import pytest
from click.testing import CliRunner

from penstock.cli.trace import trace
from tests.images import image_folder


@pytest.fixture
def photos(tmp_path):
    return str(image_folder(tmp_path / "photos", classes=2, per_class=10))


OPTIONS = ["--batch-size", "4", "--size", "16"]


def test_a_trace_is_written_and_summed_up(photos, tmp_path):
    out = tmp_path / "trace.json.gz"
    done = CliRunner().invoke(trace, [photos, "--out", str(out), *OPTIONS])
    assert done.exit_code == 0, done.output
    assert "the consumer waited" in done.stdout
    events = json.loads(gzip.decompress(out.read_bytes()))["traceEvents"]
    decoded = [event for event in events if event["ph"] == "X" and event["name"] == "decode"]
    assert len(decoded) == 5


def test_it_stops_after_so_many_batches_and_reports_as_json(photos, tmp_path):
    options = ["--batches", "2", "--think", "0.001", "--json", *OPTIONS]
    done = CliRunner().invoke(trace, [photos, "--out", str(tmp_path / "trace.json"), *options])
    said = json.loads(done.stdout)
    assert [stage["name"] for stage in said["stages"]] == ["read", "decode"]
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    waits = [event for event in events if event["ph"] == "X" and event["name"] == "waits for a batch"]
    assert len(waits) == 2
    assert said["dropped"] == 0
