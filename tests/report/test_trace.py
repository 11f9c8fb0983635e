"""Traces as JSON, held against the rules of the format that Perfetto and chrome://tracing read."""

from __future__ import annotations

import gzip
import itertools
import json
import time

import pytest

import penstock
from penstock.pipeline import Pipeline, Stage, Trace
from penstock.pipeline.trace import CONSUMER
from penstock.report import write_trace
from penstock.report.trace import as_json
from penstock.transforms import RandomResizedCrop
from tests.datasets import packed
from tests.images import image_folder
from tests.stores import access, allow, uploaded


def checked(said):
    """Hold a trace against the rules; its events by their kind."""
    events = json.loads(json.dumps(said, allow_nan=False))["traceEvents"]
    assert [event["ts"] for event in events] == sorted(event["ts"] for event in events)
    kinds = {}
    for event in events:
        assert {"ph", "name", "ts", "pid", "tid"} <= set(event)
        kinds.setdefault(event["ph"], []).append(event)
    named = {event["tid"] for event in kinds["M"] if event["name"] == "thread_name"}
    tracks = {}
    for event in kinds.get("X", []):
        assert event["dur"] >= 0
        assert event["tid"] in named
        tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for slices in tracks.values():
        for one, other in itertools.combinations(sorted(slices, key=lambda s: (s[0], -s[1])), 2):
            assert other[0] >= one[1] - 0.002 or other[1] <= one[1] + 0.002, "slices overlap without nesting"
    starts = {event["id"]: event for event in kinds.get("s", [])}
    ends = {event["id"]: event for event in kinds.get("f", [])}
    assert set(starts) == set(ends)
    for event in (*starts.values(), *ends.values()):
        at = event["ts"]
        assert any(began <= at <= ended for began, ended in tracks[event["tid"]]), "an arrow begins or ends in no slice"
    assert all(starts[one]["ts"] <= ends[one]["ts"] + 0.01 for one in starts)
    assert {e["id"] for e in kinds.get("b", [])} == {e["id"] for e in kinds.get("e", [])}
    return kinds


def lanes_of(kinds):
    return {event["tid"]: event["args"]["name"] for event in kinds["M"] if event["name"] == "thread_name"}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    photos = image_folder(tmp_path_factory.mktemp("traced") / "photos", classes=2, per_class=12)
    trace = penstock.Trace()
    with penstock.Loader(photos, batch_size=4, transforms=[RandomResizedCrop(16)], threads=2, trace=trace) as loader:
        for _ in range(2):
            for _batch in loader:
                with trace.span("forward"):
                    pass
    return trace


def test_a_loaders_stages_are_tracks_and_its_batches_arrows(loaded):
    kinds = checked(as_json(loaded))
    lanes = lanes_of(kinds)
    expected = [CONSUMER, "penstock-read-0", "penstock-decode-0", "penstock-decode-1", "training loop: MainThread"]
    assert list(lanes.values()) == expected
    decoded = [event["args"] for event in kinds["X"] if event["cat"] == "work" and event["name"] == "decode"]
    wanted = [{"batch": batch, "iteration": epoch} for epoch in range(2) for batch in range(6)]
    assert sorted(decoded, key=lambda args: (args["iteration"], args["batch"])) == wanted
    assert len(kinds["s"]) == 2 * 6 * 2  # read to decode, decode to the consumer
    waits = [event for event in kinds["X"] if lanes[event["tid"]] == CONSUMER and event["cat"] == "wait"]
    assert len(waits) == 2 * 7
    assert {event["name"] for event in kinds["C"]} == {"batches after read", "batches after decode"}


def test_iterations_at_the_same_time_have_tracks_of_their_own():
    trace = Trace()
    stages = [Stage("read", lambda item: item)]
    with Pipeline(range(4), stages, trace=trace) as one, Pipeline(range(4), stages, trace=trace) as other:
        assert list(zip(one, other, strict=True)) == [(n, n) for n in range(4)]
    list(Pipeline(range(2), stages, trace=trace))
    lanes = list(lanes_of(checked(as_json(trace))).values())
    assert lanes == [CONSUMER, "penstock-read-0", f"{CONSUMER} (2)", "penstock-read-0 (2)"]


def test_a_trace_whose_oldest_spans_are_gone_is_still_one(loaded):
    trace = Trace(keep=25)
    list(Pipeline(range(40), [Stage("read", lambda item: item), Stage("decode", lambda item: item)], trace=trace))
    said = as_json(trace)
    checked(said)
    assert said["otherData"]["dropped_spans"] == trace.dropped > 0


def test_times_can_be_laid_beside_another_tools(loaded):
    said = as_json(loaded)
    monotonic, unix = said["otherData"]["began_monotonic_seconds"], said["otherData"]["began_unix_seconds"]
    assert time.monotonic() - monotonic == pytest.approx(time.time() - unix, abs=5)
    first = min(event["ts"] for event in said["traceEvents"] if event["ph"] == "X")
    assert first / 1e6 + monotonic == pytest.approx(min(span.began for span in loaded.spans), abs=1e-5)


def test_requests_of_a_store_lie_beside_the_threads(seaweedfs, monkeypatch):
    allow(monkeypatch, seaweedfs)
    url = uploaded(seaweedfs, packed(), "traced/photos.pen")
    trace = penstock.Trace()
    dataset = penstock.open(url, access=access(seaweedfs.endpoint))
    with penstock.Loader(dataset, batch_size=4, transforms=[RandomResizedCrop(16)], trace=trace) as loader:
        for _ in loader:
            pass
        made = loader.statistics().stores[0].requests
    kinds = checked(as_json(trace))
    assert len(kinds["b"]) == made > 0
    assert all(event["cat"] == "requests" and "shards/" in event["name"] for event in kinds["b"])


def test_it_is_written_plain_or_compressed(loaded, tmp_path):
    write_trace(loaded, tmp_path / "trace.json")
    write_trace(loaded, tmp_path / "trace.json.gz")
    plain = json.loads((tmp_path / "trace.json").read_text())
    assert json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes())) == plain
    assert plain["displayTimeUnit"] == "ms"
