"""Ranged reads of a real object store."""

from __future__ import annotations

import os

import pytest

from penstock.bench import layers
from penstock.bench.study import run_of
from penstock.errors import UsageError
from penstock.results import Cache
from penstock.storage.object import ObjectStore
from tests.stores import access, allow

BRIEF = 0.2


def measured(url, endpoint, **settings):
    module = layers.load("store")
    return module.measure(module.Settings(data=url, endpoint=endpoint, seconds=BRIEF, **settings), lambda _: None)


@pytest.mark.parametrize("request_bytes", [1000, 0])
def test_objects_are_read_in_pieces_or_whole(seaweedfs, monkeypatch, request, request_bytes):
    allow(monkeypatch, seaweedfs)
    url = f"s3://{seaweedfs.bucket}/{request.node.name.replace('[', '-').replace(']', '')}"
    store = ObjectStore(url, access(seaweedfs.endpoint))
    for number in range(3):
        store.write(f"{number}.bin", os.urandom(5000))
    found = measured(url, seaweedfs.endpoint, in_flight=4, request_bytes=request_bytes)
    values = found["values"]
    assert values["payload_bytes"] == (request_bytes or 5000) * values["samples"] > 0
    assert 0 < values["latency_p50_seconds"] < BRIEF
    assert found["cache"] is None, "of a store's own cache nothing is known"


def test_a_bucket_without_an_object_is_refused(seaweedfs, monkeypatch):
    allow(monkeypatch, seaweedfs)
    with pytest.raises(UsageError, match="nothing to read"):
        measured(f"s3://{seaweedfs.bucket}/no-such-prefix", seaweedfs.endpoint)


def test_a_folder_s_reads_say_what_the_cache_was(tmp_path):
    (tmp_path / "x").write_bytes(os.urandom(100_000))
    module = layers.load("store")
    found = module.measure(module.Settings(data=str(tmp_path), seconds=0.05), lambda _: None)
    assert isinstance(found["cache"], Cache)
    run = run_of("store", 0, 0, {"status": "ok", "values": found["values"]})
    assert run.is_ok
