"""Lists of loose objects: read and written in both forms, and what is refused."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import FormatError, UsageError
from penstock.ingest.listing import list_folder
from penstock.ingest.object_classes import Classes
from penstock.ingest.object_list import ObjectList, decode_list, encode_list
from penstock.ingest.object_lister import index_objects
from tests import folders

KEYS = ["scratch/imagenet/val/ILSVRC2012_val_00000001.JPEG", "ä b/50%+1.jpg", "1.png"]


def test_a_json_list_is_an_array_of_keys_and_nothing_else():
    written = encode_list(ObjectList(KEYS), "index.json")
    assert json.loads(written) == KEYS
    assert decode_list(json.dumps(KEYS).encode(), "i.JSON").keys == KEYS  # as other programs write it
    assert decode_list(written, "index.json").sizes is None


def test_a_parquet_list_knows_sizes_classes_and_root():
    classes = Classes(np.array([1, 0, 1]), ("cat", "dog"))
    written = encode_list(ObjectList(KEYS, np.array([5, 0, 7]), classes, "s3://bucket"), "i.parquet")
    found = decode_list(written, "i.parquet")
    assert (found.keys, found.sizes.tolist(), found.root) == (KEYS, [5, 0, 7], "s3://bucket")
    assert (found.classes.labels.tolist(), found.classes.names) == ([1, 0, 1], ("cat", "dog"))
    assert pq.read_table(pa.BufferReader(written)).schema.names == ["key", "size", "label"]


def parquet(**columns):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_a_parquet_list_of_another_making_needs_but_keys():
    found = decode_list(parquet(key=["a", "b"], etag=["1", "2"]), "i.parquet")
    assert (found.keys, found.sizes, found.classes, found.root) == (["a", "b"], None, None, None)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[", "not JSON"),
        (b'{"a": 1}', "not an array of texts: got dict"),
        (b'["a", 5]', "got an array with 5"),
        (b"[]", "names no objects"),
        (b'["a", "b", "a", "a"]', "2 objects again: got a"),
        *(
            (json.dumps(["a", key]).encode(), "1 keys name no object")
            for key in ("", "/a", "a/", "a//b", "../a", "a/.")
        ),
        (b'["a", "\\udcff"]', "1 keys name no object"),
    ],
)
def test_what_is_wrong_with_a_json_list_is_said(data, said):
    with pytest.raises(FormatError, match=said):
        decode_list(data, "index.json")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PAR1", "cannot be read"),
        (parquet(name=["a"]), r"lacks a column: got \['name'\]"),
        (parquet(key=["a", None]), "without a key"),
        (parquet(key=["a"], size=[-1]), "negative size"),
        (parquet(key=["a"], size=["many"]), "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_parquet_list_is_said(data, said):
    with pytest.raises(FormatError, match=said):
        decode_list(data, "index.parquet")


def test_labels_beyond_the_classes_are_refused():
    written = encode_list(ObjectList(["a"], np.array([1]), Classes(np.array([2]), ("x",))), "i.parquet")
    with pytest.raises(FormatError, match="labels that are no class: got 2 to 2, expected 0 to 0"):
        decode_list(written, "i.parquet")


def test_a_folder_is_listed_in_the_order_of_an_image_folder(tmp_path):
    files = ["cat/long/1.jpg", "cat-big/2.jpg", "cat/3.JPG", "cat/10.png", "a.jpg", "cat/.x.jpg", "cat/n.txt"]
    folders.write(tmp_path / "p", dict.fromkeys(files, b"abc"))
    folders.write(tmp_path / "p", {"cat/\udcff.jpg": b""})
    report = index_objects(tmp_path / "p" / "cat", tmp_path / "i.json")
    assert json.loads((tmp_path / "i.json").read_text()) == ["10.png", "3.JPG", "long/1.jpg"]
    assert report.skipped == {"hidden": 1, "by the suffix of its name": 1, "its name is not UTF-8": 1}
    assert (report.objects, report.bytes, report.classes) == (3, 9, None)
    names = [file.name for file in list_folder(str(tmp_path / "p")).files]
    assert names == ["a.jpg", "cat/10.png", "cat/3.JPG", "cat/\udcff.jpg", "cat/long/1.jpg", "cat-big/2.jpg"]


def test_suffixes_are_those_asked_for_in_letters_of_any_case(tmp_path):
    folders.write(tmp_path / "p", dict.fromkeys(["1.JPEG", "2.jpeg", "3.jpg", "4.raw"], b""))
    index_objects(tmp_path / "p", tmp_path / "i.json", suffixes=[".JPEG", "RAW"])
    assert json.loads((tmp_path / "i.json").read_text()) == ["1.JPEG", "2.jpeg", "4.raw"]


def test_what_cannot_be_listed_is_refused_before_anything_is_written(tmp_path):
    folders.write(tmp_path / "p", {"notes.txt": b""})
    with pytest.raises(UsageError, match=r"no images here: got 1 others, expected names in \.jpeg "):
        index_objects(tmp_path / "p", tmp_path / "i.json", suffixes=["jpeg"])
    with pytest.raises(UsageError, match=r"one of two forms: got .*i\.csv"):
        index_objects(tmp_path / "p", tmp_path / "i.csv")
    with pytest.raises(UsageError, match="full keys are those of a bucket"):
        index_objects(tmp_path / "p", tmp_path / "i.json", full_keys=True)
    with pytest.raises(UsageError, match="a plain web server cannot list"):
        index_objects("http://127.0.0.1:9/photos", tmp_path / "i.json")
    assert not list(tmp_path.glob("i.*"))
