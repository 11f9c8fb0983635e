"""20BN's lists of videos: in CSV and in JSON, packed by their ids."""

import gzip
import json
from pathlib import Path

import pytest

import penstock
from penstock.errors import SourceError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, open_source
from tests import folders, videos
from tests.ingest.conformance import CHECKS, Case, Made, name

LABELS = ("Pushing [something]", "Holding [something]")
FILES = {
    f"videos/{100 + i}.{'webm' if i % 2 else 'mp4'}": videos.video("mp4", videos.even(4), seed=i) for i in range(5)
}


def made_csv(root: Path) -> Made:
    rows = [f"{100 + i};{LABELS[i % 2]}" for i in range(5)]
    folders.write(root, {**FILES, "train.csv": "\n".join(rows).encode()})
    return _made(root / "train.csv")


def made_json(root: Path) -> Made:
    """One video is alone in a folder of its own."""
    files = {**FILES, "videos/101/recording.mp4": FILES["videos/101.webm"], "videos/101/notes.txt": b""}
    del files["videos/101.webm"]
    rows = [{"id": 100 + i if i else "100", "template": LABELS[i % 2], "label": f"{i}"} for i in range(5)]
    folders.write(root, {**files, "train.json.gz": gzip.compress(json.dumps(rows).encode())})
    return _made(root / "train.json.gz")


def _made(path: Path) -> Made:
    return Made(
        path=str(path),
        keys=[str(100 + i) for i in range(5)],
        pictures=[[b""] * 4] * 5,
        labels={"label": [1, 0, 1, 0, 1]},
        classes=tuple(sorted(LABELS)),
        is_exact=False,
    )


def change(root: Path) -> None:
    folders.write(root, {"videos/102.mp4": videos.video("mp4", videos.even(4), seed=77)})


def lose(root: Path) -> str:
    (root / "videos" / "103.webm").unlink()
    return "103"


@pytest.mark.parametrize("made", [made_csv, made_json])
@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_list_of_videos_is_a_source_like_any_other(check, made, tmp_path):
    check(Case("20bn-videos", made, change, lose), tmp_path)


def test_a_list_for_testing_has_no_labels(tmp_path):
    made_csv(tmp_path)
    (tmp_path / "test.csv").write_text("104\n100\n")
    (tmp_path / "test.json").write_text('[{"id": "104"}, {"id": "100"}]')
    for path in ("test.csv", "test.json"):
        source = open_source(str(tmp_path / path))
        assert (source.kind, source.keys, source.classes) == ("20bn-videos", ["104", "100"], None)


def test_the_label_is_the_member_that_was_said(tmp_path):
    source = open_source(made_json(tmp_path).path, options=Options(label_name="label"))
    assert source.classes == ("0", "1", "2", "3", "4")
    with pytest.raises(SourceError, match=r"(?s)an entry has no text 'verb': got entry 0: .*--label-name"):
        open_source(made_json(tmp_path).path, options=Options(label_name="verb"))
    with pytest.raises(UsageError, match="only lists in JSON have named members: got label_name='verb'"):
        open_source(made_csv(tmp_path).path, options=Options(label_name="verb"))


def test_the_root_and_the_classes_may_be_said(tmp_path):
    path = made_csv(tmp_path).path
    (tmp_path / "videos").rename(tmp_path / "elsewhere")
    (tmp_path / "labels.csv").write_text("\n".join([LABELS[0], "Something else", LABELS[1]]))
    assert kind_at(str(tmp_path)).name == "video-folder"
    with pytest.raises(UsageError, match=r"there are no videos beside this list.*a folder that has 100\.webm"):
        open_source(path, "20bn-videos")
    options = Options(root=str(tmp_path / "elsewhere"), labels=str(tmp_path / "labels.csv"))
    source = open_source(path, "20bn-videos", options)
    assert source.classes == (LABELS[0], "Something else", LABELS[1])
    assert source.labels.column("label").to_pylist() == [0, 2, 0, 2, 0]


def test_an_id_that_is_named_twice_is_an_error_or_packed_once(tmp_path):
    path = Path(made_csv(tmp_path / "source").path)
    path.write_text(path.read_text() + f"\n102;{LABELS[1]}\n100;{LABELS[0]}\n")
    with pytest.raises(SourceError, match=r"2 keys have several samples: got 100 \(2 times\), 102 \(2 times\)"):
        penstock.pack(path, tmp_path / "v.pen")
    penstock.pack(path, tmp_path / "v.pen", remove_duplicates=True, seed=None)
    dataset = penstock.open(tmp_path / "v.pen")
    assert [sample.key for sample in dataset] == ["100", "101", "102", "103", "104"]
    assert dataset.labels("label").tolist() == [1, 0, 1, 0, 1]
    assert penstock.verify(tmp_path / "v.pen").is_sound


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "not a JSON array"),
        ("[]", "not a JSON array"),
        ('[{"id": "../100"}]', "an entry has no id: got entry 0"),
        ('[{"id": "100"}, {"name": 3}]', "an entry has no id: got entry 1"),
        ('[{"id": true}]', "an entry has no id"),
        ("[", "not JSON"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_list_that_is_none_is_named(tmp_path, text, why):
    made_json(tmp_path)
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(SourceError, match=rf"(?s){why}.*bad\.json"):
        open_source(str(tmp_path / "bad.json"), "20bn-videos")


@pytest.mark.parametrize("data", [b"no gzip", gzip.compress(b"[]", mtime=0)[:-6]])
def test_a_list_that_cannot_be_unpacked_is_named(tmp_path, data):
    (tmp_path / "bad.json.gz").write_bytes(data)
    with pytest.raises(SourceError, match=r"bad\.json\.gz"):
        open_source(str(tmp_path / "bad.json.gz"), "20bn-videos")
