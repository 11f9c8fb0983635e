"""`penstock index`: lists of a folder and of a bucket, options, reports, codes."""

import json
import re

import pyarrow.parquet as pq

import penstock
from tests import folders
from tests.cli.test_verbs import run
from tests.loose import Bucket


def test_a_bucket_is_listed_with_access_by_options_and_the_list_goes_to_a_url(seaweedfs, tmp_path, monkeypatch):
    bucket = Bucket(seaweedfs, "test_index", monkeypatch)
    source = folders.classes(tmp_path / "photos")
    folders.write(source, {"c0/notes.txt": b"", "c1/.hidden.jpg": b"no"})
    bucket.put(source)
    out, access = f"{bucket.bucket}/lists/index.parquet", ("--endpoint", seaweedfs.endpoint)
    report = json.loads(run("index", bucket.root, "-o", out, *access, "--json").stdout)
    size = sum(len(folders.jpeg(at)) for at in range(12))
    assert report == {
        "path": out,
        "root": bucket.root,
        "objects": 12,
        "bytes": size,
        "classes": 3,
        "skipped": {"by the suffix of its name": 1, "hidden": 1},
    }
    dataset = penstock.open(out, access=bucket.access)
    assert dataset.classes == ("c0", "c1", "c2")
    assert [sample.fields["image"].data for sample in dataset] == [folders.jpeg(at) for at in range(12)]
    run("index", bucket.root, "-o", tmp_path / "i.json", "--suffix", ".JPEG", "--full-keys", *access)
    assert json.loads((tmp_path / "i.json").read_text()) == [f"test_index/c{at // 4}/{at:03d}.JPEG" for at in range(12)]


def test_a_folder_is_listed_and_info_knows_it(tmp_path):
    source = folders.classes(tmp_path / "photos")
    shown = run("index", source, "-o", tmp_path / "i.parquet").stdout
    assert re.search(r"12 objects, 1\d\.\d kB, 3 classes", shown), shown
    found = json.loads(run("info", tmp_path / "i.parquet", "--json").stdout)
    assert (found["samples"], found["classes"]) == (12, 3)
    assert found["fields"]["image"]["formats"] == {"unread": 12}
    assert found["fields"]["image"]["median_size"] is None
    assert "12 unread" in run("info", tmp_path / "i.parquet").stdout


def test_classes_are_a_folder_a_file_or_none(tmp_path):
    source = folders.classes(tmp_path / "photos", 8)
    (tmp_path / "classes.json").write_text('{"c0": {"id": 2, "name": "two"}, "c1": {"id": 1, "name": "one"}}')
    for given, names, labels in (
        ("0", ["c0", "c1"], [0, 1]),
        ("-1", ["c0", "c1"], [0, 1]),
        (tmp_path / "classes.json", ["one", "two"], [1, 0]),
    ):
        run("index", source, "-o", tmp_path / "i.parquet", "--classes", given)
        table = pq.read_table(tmp_path / "i.parquet")
        assert table.column("label").to_pylist() == sorted([*labels] * 4, key=labels.index)
        assert json.loads(table.schema.metadata[b"penstock.objects"])["classes"] == names
    run("index", source, "-o", tmp_path / "i.parquet", "--classes", "none")
    assert pq.read_table(tmp_path / "i.parquet").schema.names == ["key", "size"]
    assert "has no classes" in run("index", source, "-o", tmp_path / "i.json", "--classes", "0", code=2).stderr


def test_where_nothing_is_found_the_code_is_2_and_nothing_is_written(tmp_path):
    source = folders.write(tmp_path / "photos", {"notes.txt": b""})
    refused = run("index", source, "-o", tmp_path / "i.json", code=2)
    assert "no images here: got 1 others" in refused.stderr
    assert not (tmp_path / "i.json").exists()


def test_progress_is_shown_on_a_terminal_alone(tmp_path, monkeypatch):
    source = folders.classes(tmp_path / "photos")
    words = ("index", source, "-o", tmp_path / "i.json")
    assert run(*words).stderr == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if stderr were a terminal
    assert "12 names" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", run(*words).stderr)
