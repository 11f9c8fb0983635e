"""Hugging Face datasets on disk, written by their own library: saved, as Parquet, in splits."""

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import datasets
import penstock
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, Sequence, Value
from penstock.errors import SourceError, UsageError
from penstock.ingest import table_images
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, open_source
from tests import folders
from tests.ingest.conformance import CHECKS, Case, Made, name

COUNT = 7
DATA = [folders.jpeg(number) if number % 3 else folders.png(number) for number in range(COUNT)]
FEATURES = {
    "image": Image(),
    "label": ClassLabel(names=["dog", "cat"]),
    "score": Value("float32"),
    "text": Value("string"),
}


@pytest.fixture(autouse=True)
def _no_bars_and_no_caches(tmp_path, monkeypatch):
    datasets.disable_progress_bars()
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def dataset(count: int = COUNT, first: int = 0, **columns) -> Dataset:
    """Rows with an image, a class, and more."""
    rows = range(first, first + count)
    values = {
        "image": [{"bytes": DATA[row % COUNT], "path": f"{row}.jpg"} for row in rows],
        "label": [row % 2 for row in rows],
        "score": [row / 2 for row in rows],
        "text": [f"row {row}" for row in rows],
    }
    return Dataset.from_dict({**values, **columns}, features=Features({**FEATURES, **columns.pop("features", {})}))


def made(path: Path, **options) -> Made:
    return Made(
        path=str(path),
        keys=[str(row) for row in range(COUNT)],
        pictures=[[data] for data in DATA],
        labels={
            "label": [row % 2 for row in range(COUNT)],
            "score": [row / 2 for row in range(COUNT)],
            "text": [f"row {row}" for row in range(COUNT)],
        },
        classes=("dog", "cat"),
        options=options,
    )


def made_saved(root: Path) -> Made:
    dataset().save_to_disk(root / "set", num_shards=2)
    return made(root / "set")


def made_of_splits(root: Path) -> Made:
    DatasetDict({"test": dataset(2), "train": dataset()}).save_to_disk(root / "set", num_shards={"test": 1, "train": 3})
    return made(root / "set", subset="train")


def change_saved(root: Path) -> None:
    file = max((root / "set").rglob("*.arrow"))
    os.utime(file, ns=(1, 1))


def lose_saved(root: Path) -> str:
    """An image's first bytes are overwritten, where they lie."""
    file = [path for path in sorted((root / "set").rglob("*.arrow")) if DATA[1] in path.read_bytes()][-1]
    file.write_bytes(file.read_bytes().replace(DATA[1], b"x" * len(DATA[1])))
    return f"{file.name}: row 1"


@pytest.mark.parametrize("made", [made_saved, made_of_splits])
@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_saved_dataset_is_a_source_like_any_other(check, made, tmp_path):
    check(Case("huggingface", made, change_saved, lose_saved), tmp_path)


def made_parquet(root: Path) -> Made:
    """Images of one size in bytes: a row of Parquet counts as its share of the group."""
    longest = max(map(len, DATA))
    images = [{"bytes": data.ljust(longest, b"\0"), "path": f"{row}.jpg"} for row, data in enumerate(DATA)]
    rows = dataset(image=images)
    root.mkdir(exist_ok=True, parents=True)
    rows.to_parquet(root / "set.parquet", batch_size=3)
    found = made(root / "set.parquet")
    return Made(found.path, found.keys, [[image["bytes"]] for image in images], found.labels, found.classes)


def change_parquet(root: Path) -> None:
    os.utime(root / "set.parquet", ns=(1, 1))


def lose_parquet(root: Path) -> str:
    table = pq.read_table(root / "set.parquet")
    rows = table.to_pylist()
    rows[4]["image"]["bytes"] = b"x"
    pq.write_table(pa.Table.from_pylist(rows, table.schema), root / "set.parquet", row_group_size=2)
    return "set.parquet: row 4"


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_parquet_file_is_a_source_like_any_other(check, tmp_path):
    check(Case("huggingface", made_parquet, change_parquet, lose_parquet), tmp_path)


def test_row_groups_are_read_once_in_order_and_held_up_to_a_bound(tmp_path, monkeypatch):
    made = made_parquet(tmp_path)
    reads = []
    read = pq.ParquetFile.read_row_group
    monkeypatch.setattr(
        pq.ParquetFile, "read_row_group", lambda file, at, columns: reads.append(at) or read(file, at, columns)
    )
    monkeypatch.setattr(table_images, "_HELD_BYTES", 0)
    items = open_source(made.path).fields["image"]
    assert [items.read(row) for row in range(COUNT)] == made.pictures
    assert reads == [0, 1, 2]
    assert [items.read(row) for row in (6, 0, 6)] == [made.pictures[row] for row in (6, 0, 6)]
    assert reads == [0, 1, 2, 0, 2]
    monkeypatch.setattr(table_images, "_HELD_BYTES", 1 << 20)
    assert [items.read(row) for row in (0, 3, 6, 0, 3)] == [made.pictures[row] for row in (0, 3, 6, 0, 3)]
    assert reads == [0, 1, 2, 0, 2, 0, 1]


def hub(root: Path, layout: dict[str, int]) -> Path:
    """Parquet files as the Hub has them."""
    for number, (file, count) in enumerate(layout.items()):
        (root / file).parent.mkdir(exist_ok=True, parents=True)
        dataset(count, 10 * number).to_parquet(root / file)
    return root


@pytest.mark.parametrize(
    "layout",
    [
        {"data/train-00000-of-00002.parquet": 2, "data/train-00001-of-00002-0a1b2c.parquet": 3, "data/test.parquet": 1},
        {"train/0000.parquet": 2, "train/0001.parquet": 3, "test/0000.parquet": 1},
        {"train-00000-of-00002.parquet": 2, "train-00001-of-00002.parquet": 3, "test-00000-of-00001.parquet": 1},
    ],
)
def test_splits_of_parquet_are_told_by_their_names(tmp_path, layout):
    path = str(hub(tmp_path / "hub", layout))
    source = open_source(path, options=Options(subset="train"))
    assert (source.kind, source.keys) == ("huggingface", ["0", "1", "10", "11", "12"])
    assert source.fields["image"].name(3) == f"{list(layout)[1]}: row 1"
    assert open_source(path, options=Options(subset="test")).keys == ["20"]
    with pytest.raises(UsageError, match=r"(?s)several splits: expected (train or test|test or train).*--subset"):
        open_source(path)
    with pytest.raises(UsageError, match="no such split: got 'dev'"):
        open_source(path, options=Options(subset="dev"))


def test_the_cache_of_the_library_is_a_folder_of_splits_too(tmp_path):
    made_saved(tmp_path)
    for part in range(2):
        shutil.copy(
            tmp_path / f"set/data-0000{part}-of-00002.arrow", tmp_path / f"photos-train-0000{part}-of-00002.arrow"
        )
    shutil.copy(tmp_path / "set/data-00000-of-00002.arrow", tmp_path / "photos-test.arrow")
    shutil.rmtree(tmp_path / "set")
    assert len(open_source(str(tmp_path), options=Options(subset="train"))) == COUNT
    assert len(open_source(str(tmp_path), options=Options(subset="test"))) == 4


def test_rows_without_a_class_are_reported_and_a_split_without_any_has_no_labels(tmp_path):
    dataset(label=[0, -1, 1, 1, -1, 0, 0]).save_to_disk(tmp_path / "some")
    source = open_source(str(tmp_path / "some"))
    assert source.keys == ["0", "2", "3", "5", "6"]
    assert source.label_values()["label"] == [0, 1, 1, 0, 0]
    assert [source.fields["image"].read(row) for row in range(5)] == [[DATA[row]] for row in (0, 2, 3, 5, 6)]
    assert [(item.name, item.outcome) for item in source.skipped] == [
        ("data-00000-of-00001.arrow: row 1", "unlabelled"),
        ("data-00000-of-00001.arrow: row 4", "unlabelled"),
    ]
    dataset(label=[-1] * COUNT).save_to_disk(tmp_path / "none")
    source = open_source(str(tmp_path / "none"))
    assert (len(source), source.classes, source.labels.column_names) == (COUNT, None, ["score", "text"])


def test_names_that_are_missing_or_twice_make_keys_of_numbers(tmp_path):
    images = [{"bytes": data, "path": None if row == 2 else f"a/{row}.png"} for row, data in enumerate(DATA)]
    dataset(image=images).save_to_disk(tmp_path / "missing")
    assert open_source(str(tmp_path / "missing")).keys == [f"{row:08d}" for row in range(COUNT)]
    images = [{"bytes": data, "path": f"{row}/same.png"} for row, data in enumerate(DATA)]
    dataset(image=images).save_to_disk(tmp_path / "same")
    penstock.pack(tmp_path / "same", tmp_path / "same.pen", seed=None)
    assert [sample.key for sample in penstock.open(tmp_path / "same.pen")] == [f"{row:08d}" for row in range(COUNT)]


def test_another_column_of_classes_may_be_the_label(tmp_path):
    named = dataset().rename_columns({"label": "animal"})
    named.save_to_disk(tmp_path / "animal")
    source = open_source(str(tmp_path / "animal"))
    assert (source.classes, source.label_values()["label"]) == (("dog", "cat"), [row % 2 for row in range(COUNT)])
    source = open_source(str(tmp_path / "animal"), options=Options(label_name="text"))
    assert source.classes == tuple(f"row {row}" for row in range(COUNT))
    assert source.label_values()["animal"] == [row % 2 for row in range(COUNT)]


def test_what_can_be_no_label_is_passed_over_and_said(tmp_path):
    features = Features(
        {"img": Image(), "other": Image(), "boxes": Sequence(Sequence(Value("float32"))), "n": Value("int64")}
    )
    image = {"bytes": DATA[0], "path": "a.png"}
    rows = Dataset.from_dict({"other": [image], "img": [image], "boxes": [[[1.0]]], "n": [3]}, features=features)
    rows.save_to_disk(tmp_path / "set")
    source = open_source(str(tmp_path / "set"))
    assert (source.keys, source.label_values()) == (["a"], {"n": [3]})
    assert sorted((item.name, item.is_expected) for item in source.skipped) == [
        ("the column boxes", True),
        ("the column other", True),
    ]


def test_bytes_without_a_path_are_images_too_and_large_ones(tmp_path):
    for kind in (pa.binary(), pa.large_binary()):
        pq.write_table(
            pa.table({"jpeg": pa.array(DATA, kind), "label": ["b", "a", "b", "a", "b", "a", "b"]}),
            tmp_path / "t.parquet",
        )
        source = open_source(str(tmp_path / "t.parquet"))
        assert (source.kind, source.classes) == ("huggingface", ("a", "b"))
        assert [source.fields["image"].read(row) for row in range(COUNT)] == [[data] for data in DATA]


def test_a_row_with_a_path_alone_is_reported(tmp_path):
    images = [{"bytes": None if row == 3 else data, "path": f"{row}.jpg"} for row, data in enumerate(DATA)]
    schema = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    pq.write_table(pa.table({"image": pa.array(images, schema)}), tmp_path / "t.parquet")
    report = penstock.pack(tmp_path / "t.parquet", tmp_path / "t.pen", on_error="skip")
    assert [item.name for item in report.skipped] == ["t.parquet: row 3"]
    assert "holds no image, at most a path" in report.skipped[0].why


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"state.json": b"{}"}, "the file names no tables"),
        ({"state.json": b'{"_data_files": [{"filename": "../x.arrow"}]}'}, "the file names no tables"),
        ({"state.json": b'{"_data_files": [{"filename": "x.arrow"}]}'}, "No such file"),
        ({"state.json": b'{"_data_files": [{"filename": "x.arrow"}], "_indices_files": [{}]}'}, "saved with indices"),
        ({"state.json": b'{"_data_files": [{"filename": "x.arrow"}]}', "x.arrow": b"no table"}, "cannot be read"),
        ({"dataset_dict.json": b'{"splits": ["../up"]}'}, "the file names no splits"),
        ({"a.parquet": b"no table"}, "cannot be read"),
    ],
)
def test_a_dataset_that_is_none_is_named(tmp_path, files, why):
    with pytest.raises((SourceError, penstock.errors.StorageError), match=why):
        open_source(str(folders.write(tmp_path, files)), "huggingface")


def test_a_table_without_images_is_not_taken_for_one(tmp_path):
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "t.parquet")
    with pytest.raises(UsageError, match="there is no dataset here"):
        kind_at(str(tmp_path / "t.parquet"))
    with pytest.raises(SourceError, match="no column holds images: got n"):
        open_source(str(tmp_path / "t.parquet"), "huggingface")


def test_files_of_a_split_with_other_columns_are_refused(tmp_path):
    hub(tmp_path, {"train-00000-of-00002.parquet": 2})
    dataset(2).remove_columns("text").to_parquet(tmp_path / "train-00001-of-00002.parquet")
    with pytest.raises(SourceError, match=r"the files of a split differ: .*train-00001-of-00002\.parquet"):
        open_source(str(tmp_path))


def test_labels_beyond_the_classes_are_refused(tmp_path):
    named = dataset().cast_column("label", Value("int64"))
    named.to_parquet(tmp_path / "plain.parquet")
    assert open_source(str(tmp_path / "plain.parquet")).classes is None
    table = pq.read_table(made_parquet(tmp_path).path)
    wrong = table.set_column(1, table.schema.field(1), pa.array([5] * COUNT))
    pq.write_table(wrong, tmp_path / "wrong.parquet")
    with pytest.raises(SourceError, match="labels that are no class: got 5 to 5, expected 0 to 1"):
        open_source(str(tmp_path / "wrong.parquet"))
