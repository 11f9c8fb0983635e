"""The manifest: what is written is read, unknown things are passed over, wrong things are refused."""

import json

import pytest

from penstock.errors import FormatError
from penstock.shard.manifest import IndexEntry, Manifest, ShardEntry, decode_manifest

MANIFEST = Manifest(
    samples=3,
    fields={"image": {"formats": {"jpeg": 3}, "bytes": 99}},
    labels={"label": "int64"},
    classes=("cat", "Übung"),
    index=IndexEntry("index.parquet", 10, "ab"),
    shards=(ShardEntry("shards/000000.tar", 2048, 3, "cd"),),
    pack={"seed": 0},
    provenance={"penstock": "0"},
)


def changed(**changes):
    return json.dumps({**json.loads(MANIFEST.encode()), **changes}).encode()


def test_a_manifest_is_read_back():
    assert decode_manifest(MANIFEST.encode(), "x") == MANIFEST


def test_unknown_members_are_passed_over():
    shard = {"file": "shards/000000.tar", "bytes": 2048, "samples": 3, "sha256": "cd", "mood": "good"}
    assert decode_manifest(changed(colour="blue", shards=[shard]), "x") == MANIFEST


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        changed(format="other"),
        changed(version=2),
        changed(samples=4),
        changed(samples=-3),
        changed(samples="3"),
        changed(samples=True),
        changed(index=None),
        changed(index={"file": "index.parquet"}),
        changed(shards=[{}]),
        changed(shards={}),
        changed(fields=[]),
        changed(provenance=[]),
        changed(pack=None),
    ],
)
def test_a_wrong_manifest_is_refused(data):
    with pytest.raises(FormatError, match="x"):
        decode_manifest(data, "x")


@pytest.mark.parametrize("name", ["/etc/passwd", "../a.tar", "shards/../../a", "shards//a", "", "./a", "a\0b"])
def test_a_file_name_cannot_leave_the_dataset(name):
    with pytest.raises(FormatError, match="leave the dataset"):
        decode_manifest(changed(index={"file": name, "bytes": 1, "sha256": ""}), "x")


def test_a_newer_version_says_what_to_do():
    with pytest.raises(FormatError, match="update penstock"):
        decode_manifest(changed(version=99), "x")
