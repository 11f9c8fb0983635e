"""Tables that name images, videos or folders of frames, with labels in their columns."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.errors import SourceError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, open_source
from tests import clips, folders, videos
from tests.ingest.conformance import CHECKS, Case, Made, name

ROWS = [
    {"score": 0.5, "path": f"images/{number}.jpg", "label": "cat" if number % 2 else "dog", "place": f"{number}"}
    for number in range(5)
]
FILES = {row["path"]: folders.jpeg(number) for number, row in enumerate(ROWS)}


def made(root: Path, path: str) -> Made:
    return Made(
        path=str(root / path),
        keys=[f"images/{number}" for number in range(5)],
        pictures=[[data] for data in FILES.values()],
        labels={"score": [0.5] * 5, "label": [1, 0, 1, 0, 1], "place": [row["place"] for row in ROWS]},
        classes=("cat", "dog"),
    )


def made_csv(root: Path) -> Made:
    header, rows = ",".join(ROWS[0]), [",".join(f'"{value}"' for value in row.values()) for row in ROWS]
    folders.write(root, {**FILES, "list.csv": "\n".join([header, *rows]).encode()})
    source = made(root, "list.csv")
    source.labels["place"] = list(range(5))  # what looks like a number is one, in CSV
    return source


def made_jsonl(root: Path) -> Made:
    folders.write(root, {**FILES, "list.jsonl": "\n".join(map(json.dumps, ROWS)).encode()})
    return made(root, "list.jsonl")


def made_parquet(root: Path) -> Made:
    folders.write(root, FILES)
    table = pa.Table.from_pylist(ROWS)
    table = table.set_column(2, "label", table.column("label").dictionary_encode())
    pq.write_table(table.set_column(3, "place", table.column("place").cast(pa.large_string())), root / "list.parquet")
    return made(root, "list.parquet")


def change(root: Path) -> None:
    folders.write(root, {"images/1.jpg": folders.jpeg(99)})


def lose(root: Path) -> str:
    (root / "images/3.jpg").unlink()
    return "images/3.jpg"


@pytest.mark.parametrize("made", [made_csv, made_jsonl, made_parquet])
@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_table_of_images_is_a_source_like_any_other(check, made, tmp_path):
    check(Case("table", made, change, lose, is_of_files=True), tmp_path)


def made_of_videos(root: Path) -> Made:
    files = {f"{number}.mp4": videos.video("mp4", videos.even(number + 2), seed=number) for number in range(4)}
    lines = ["video,label", *(f"{number}.mp4,{number + 7}" for number in range(4))]
    folders.write(root, {**files, "list.csv": "\n".join(lines).encode()})
    keys, pictures = [str(number) for number in range(4)], [[b""] * (number + 2) for number in range(4)]
    return Made(str(root / "list.csv"), keys, pictures, {"label": [7, 8, 9, 10]}, is_exact=False)


def made_of_frames(root: Path) -> Made:
    clips.frame_folders(root, 4)
    (root / "train.csv").write_text("\n".join(["clip,label", *(f"frames/{100 + clip},{clip}" for clip in range(4))]))
    pictures = [[clips.frame(clip, number) for number in range(clips.frame_count(clip))] for clip in range(4)]
    return Made(
        str(root / "train.csv"), [f"frames/{100 + clip}" for clip in range(4)], pictures, {"label": [0, 1, 2, 3]}
    )


def change_video(root: Path) -> None:
    folders.write(root, {"2.mp4": videos.video("mp4", videos.even(4), seed=9)})


def lose_video(root: Path) -> str:
    folders.write(root, {"2.mp4": b"no video"})
    return "2.mp4"


def change_frame(root: Path) -> None:
    folders.write(root, {"frames/102/00002.jpg": clips.frame(50, 50)})


def lose_frame(root: Path) -> str:
    folders.write(root, {"frames/102/00002.jpg": b"no frame"})
    return "frames/102"


@pytest.mark.parametrize("check", CHECKS, ids=name)
@pytest.mark.parametrize(
    "case",
    [
        Case("table", made_of_videos, change_video, lose_video),
        Case("table", made_of_frames, change_frame, lose_frame),
    ],
    ids=["videos", "frames"],
)
def test_a_table_of_clips_is_a_source_like_any_other(check, case, tmp_path):
    check(case, tmp_path)


def test_another_column_may_be_the_label(tmp_path):
    source = open_source(made_jsonl(tmp_path).path, options=Options(label_name=None))
    assert source.classes == ("cat", "dog")
    rows = [{"file": row["path"], "kind": row["label"]} for row in ROWS]
    (tmp_path / "kinds.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert open_source(str(tmp_path / "kinds.jsonl")).labels.column_names == ["kind"]
    source = open_source(str(tmp_path / "kinds.jsonl"), options=Options(label_name="kind"))
    assert (source.classes, source.label_values()) == (("cat", "dog"), {"label": [1, 0, 1, 0, 1]})


def test_a_label_that_there_is_not_or_twice_is_refused(tmp_path):
    path = made_jsonl(tmp_path).path
    with pytest.raises(UsageError, match="no such column: got 'kind', expected score, label, place"):
        open_source(path, options=Options(label_name="kind"))
    with pytest.raises(UsageError, match="there is a column `label` already: got label_name='place'"):
        open_source(path, options=Options(label_name="place"))


def test_lists_are_labels_and_objects_are_not(tmp_path):
    folders.write(tmp_path, FILES)
    rows = [{"path": row["path"], "tags": [1, 2]} for row in ROWS]
    (tmp_path / "list.jsonl").write_text("\n".join(map(json.dumps, rows)))
    penstock.pack(tmp_path / "list.jsonl", tmp_path / "t.pen")
    assert penstock.open(tmp_path / "t.pen")[0].labels == {"tags": [1, 2]}
    rows = [{"path": row["path"], "box": {"x": 1}} for row in ROWS]
    (tmp_path / "list.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(SourceError, match="a column cannot be a label: got box: struct<x: int64>"):
        open_source(str(tmp_path / "list.jsonl"))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.jsonl", "{", "the table cannot be read"),
        ("a.jsonl", '{"path": {"x": 1}}', "the column path names no files"),
        ("a.jsonl", '{"path": "1.jpg"}\n{"label": 2}', "1 rows name nothing"),
        ("a.csv", "path,label\n", "the table is empty"),
        ("a.csv", "path,path\n1.jpg,2", "two columns have one name"),
        ("a.csv", "path,label\nnowhere,2", "the column path names nothing: got 'nowhere'"),
        ("a.csv", "path,label\n../1.jpg,2", "a name leads out of the root: got row 0"),
        ("a.parquet", "no table", "the table cannot be read"),
    ],
)
def test_a_table_that_is_none_is_named(tmp_path, name, text, why):
    (tmp_path / name).write_text(text)
    with pytest.raises(SourceError, match=why):
        open_source(str(tmp_path / name), "table")


def test_a_rate_is_nothing_for_frames(tmp_path):
    with pytest.raises(UsageError, match="frame_rate is about videos, and these are frames"):
        open_source(made_of_frames(tmp_path).path, options=Options(frame_rate=8))


def test_a_table_of_labels_beside_a_folder_is_still_one_of_labels(tmp_path):
    """`--labels` says so: the same file is a source only where it is the source."""
    made = made_csv(tmp_path)
    assert kind_at(made.path).name == "table"
    packed = penstock.pack(tmp_path / "images", tmp_path.parent / "i.pen", labels=_beside(tmp_path), force=True)
    assert packed.samples == 5


def _beside(root: Path) -> Path:
    path = root / "labels.csv"
    path.write_text((root / "list.csv").read_text().replace("images/", ""))
    return path
