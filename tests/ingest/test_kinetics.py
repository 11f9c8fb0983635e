"""Kinetics' records, and the parts of videos that they name."""

import json
from pathlib import Path

import pytest

from penstock.errors import SourceError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import open_source
from tests import folders, videos
from tests.ingest.conformance import CHECKS, Case, Made, name

CLIPS = {
    "---QUuC4vJs": ("testifying", 84),
    "_x_000001_000002": ("abseiling", 0),
    "c": ("testifying", 5),
    "d": ("a b", 7),
}
RECORDS = {
    video: {"annotations": {"label": label, "segment": [float(start), start + 10.0]}, "subset": "validate"}
    for video, (label, start) in CLIPS.items()
}
FILES = {
    f"{label.replace(' ', '_')}/{video}_{start:06d}_{start + 10:06d}.mp4": videos.video(
        "mp4", videos.even(3), seed=start
    )
    for video, (label, start) in CLIPS.items()
}


def made(root: Path) -> Made:
    folders.write(root, {**FILES, "validate.json": json.dumps(RECORDS).encode(), "testifying/readme.txt": b""})
    return Made(
        path=str(root / "validate.json"),
        keys=list(CLIPS),
        pictures=[[b""] * 3] * 4,
        labels={
            "label": [2, 1, 2, 0],
            "record": [json.dumps(record, sort_keys=True) for record in RECORDS.values()],
        },
        classes=("a b", "abseiling", "testifying"),
        is_exact=False,
    )


def change(root: Path) -> None:
    folders.write(root, {"testifying/c_000005_000015.mp4": videos.video("mp4", videos.even(3), seed=55)})


def lose(root: Path) -> str:
    (root / "testifying/c_000005_000015.mp4").rename(root / "testifying/c_000006_000016.mp4")
    return "c"


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_kinetics_is_a_source_like_any_other(check, tmp_path):
    check(Case("kinetics", made, change, lose), tmp_path)


def test_a_record_without_a_segment_takes_the_only_part_of_its_video(tmp_path):
    made(tmp_path)
    folders.write(tmp_path, {"test/e_000001_000011.mp4": b"1", "test/f_000001_000011.mp4": b"1"})
    folders.write(tmp_path, {"test/f_000002_000012.mp4": b"2"})
    bare = {"subset": "test", "url": "https://host.example"}
    (tmp_path / "test.json").write_text(json.dumps({"e": bare, "f": bare}))
    source = open_source(str(tmp_path / "test.json"), options=Options(subset="test"))
    assert (source.kind, source.keys, source.classes) == ("kinetics", ["e"], None)
    assert [item.name for item in source.skipped] == ["f"]


@pytest.mark.parametrize("body", [[], {}, {"a": 3}])
def test_a_file_that_is_none_is_named(tmp_path, body):
    (tmp_path / "bad.json").write_text(json.dumps(body))
    with pytest.raises(SourceError, match="the file is not Kinetics'"):
        open_source(str(tmp_path / "bad.json"), "kinetics")


def test_a_segment_that_is_none_finds_no_part(tmp_path):
    made(tmp_path)
    records = {**RECORDS, "c": {"annotations": {"label": "testifying", "segment": [5]}, "subset": "validate"}}
    (tmp_path / "odd.json").write_text(json.dumps(records))
    assert [item.name for item in open_source(str(tmp_path / "odd.json")).skipped] == ["c"]
