"""ActivityNet's records: subsets, labels, and the whole record kept."""

import json
from pathlib import Path

import pytest

from penstock.errors import SourceError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import open_source
from tests import folders, videos
from tests.ingest.conformance import CHECKS, Case, Made, name


def record(label: str | None, subset: str) -> dict:
    annotations = [] if label is None else [{"segment": [0.5, 2], "label": label}, {"segment": [3, 4], "label": "Rest"}]
    return {"subset": subset, "duration": 4.5, "annotations": annotations, "url": "https://host.example/ä"}


RECORDS = {
    "-aa": record("Zumba", "training"),
    "bb.1": record("Archery", "training"),
    "cc": record("Zumba", "validation"),
    "dd": record("Zumba", "training"),
    "ee": record(None, "testing"),
    "ff": record("Archery", "training"),
}
FILES = {
    "v_-aa.mp4": videos.video("mp4", videos.even(3), seed=1),
    "bb.1.webm": videos.video("webm", videos.even(4), seed=2),
    "dd.mkv": videos.video("mkv", videos.even(5), seed=3),
    "dd.mp4.part": b"half",
    "ff.mp4": videos.video("mp4", videos.even(6), seed=4),
    "cc.mp4": videos.video("mp4", videos.even(6), seed=5),
    "ee.mp4": videos.video("mp4", videos.even(6), seed=6),
}


def made(root: Path) -> Made:
    folders.write(root, {**FILES, "net.json": json.dumps({"version": "1.3", "database": RECORDS}).encode()})
    chosen = [name for name in RECORDS if RECORDS[name]["subset"] == "training"]
    return Made(
        path=str(root / "net.json"),
        keys=["-aa", "bb%2E1", "dd", "ff"],
        pictures=[[b""] * count for count in (3, 4, 5, 6)],
        labels={
            "label": [1, 0, 1, 0],
            "record": [json.dumps(RECORDS[name], sort_keys=True, ensure_ascii=False) for name in chosen],
        },
        classes=("Archery", "Zumba"),
        options={"subset": "training"},
        is_exact=False,
    )


def change(root: Path) -> None:
    folders.write(root, {"dd.mkv": videos.video("mkv", videos.even(5), seed=33)})


def lose(root: Path) -> str:
    (root / "ff.mp4").rename(root / "ff.mp4.part")
    return "ff"


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_activitynet_is_a_source_like_any_other(check, tmp_path):
    check(Case("activitynet", made, change, lose), tmp_path)


def test_a_subset_for_testing_has_no_labels(tmp_path):
    source = open_source(made(tmp_path).path, options=Options(subset="testing"))
    assert (source.keys, source.classes, source.labels.column_names) == (["ee"], None, ["record"])


def test_without_a_subset_what_has_no_label_is_named(tmp_path):
    source = open_source(made(tmp_path).path)
    assert source.keys == ["-aa", "bb%2E1", "cc", "dd", "ff"]
    assert [str(item) for item in source.skipped] == ["ee: unlabelled: the list has no label for it"]


def test_a_subset_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such subset: got 'train', expected testing, training, validation"):
        open_source(made(tmp_path).path, options=Options(subset="train"))


def test_without_any_video_the_error_says_where_it_looked(tmp_path):
    path, elsewhere = made(tmp_path).path, tmp_path / "elsewhere"
    elsewhere.mkdir()
    with pytest.raises(SourceError, match=r"got none of the 6 rows of the list, for example -aa: .*elsewhere"):
        open_source(path, options=Options(root=str(elsewhere)))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ([], "the file is not ActivityNet's"),
        ({"database": {"a/b": {}}}, "not a record of a video: got 'a/b'"),
        ({"database": {"a": 3}}, "not a record of a video: got 'a': 3"),
        ({"database": {"a": {"annotations": [{"label": 3}]}}}, "a label is no text: got 3"),
        ({"database": {}}, "got an empty list"),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path, body, why):
    (tmp_path / "bad.json").write_text(json.dumps(body))
    with pytest.raises(SourceError, match=why):
        open_source(str(tmp_path / "bad.json"), "activitynet")
