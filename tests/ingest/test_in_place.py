"""Indexes of untouched folders: what is cached, under which name, and what is not."""

import os
import pickle

import penstock
from penstock.ingest import in_place
from penstock.storage.user_cache import user_cache
from tests import folders


def test_a_file_that_could_not_be_read_for_a_moment_is_read_the_next_time(tmp_path, monkeypatch, caplog):
    source = folders.classes(tmp_path / "photos", 3)
    read_start = in_place.read_start

    def refusing(path, length):
        if path.endswith("001.JPEG"):
            raise OSError(23, "Too many open files in system")
        return read_start(path, length)

    monkeypatch.setattr(in_place, "read_start", refusing)
    dataset = penstock.open(source)
    assert "not cached, because 1 files could not be read" in caplog.text
    assert "Too many open files" in caplog.text
    assert [sample.fields["image"].format for sample in dataset] == ["jpeg", "unknown", "jpeg"]
    assert pickle.loads(pickle.dumps(dataset)).digest == dataset.digest
    monkeypatch.setattr(in_place, "read_start", read_start)
    assert [sample.fields["image"].format for sample in penstock.open(source)] == ["jpeg"] * 3


def test_a_file_that_is_no_image_is_known_to_be_none(tmp_path, monkeypatch):
    source = folders.write(tmp_path / "photos", {"a/1.jpg": b"<html>", "a/2.jpg": folders.jpeg()})
    penstock.open(source)
    monkeypatch.setattr(in_place, "_probe", None)  # would fail if a header were read again
    assert penstock.open(source)[0].fields["image"].format == "unknown"


def test_one_folder_with_two_files_of_labels_has_two_indexes(tmp_path):
    source = folders.write(tmp_path / "photos", {f"{i}.jpg": folders.jpeg(i) for i in range(2)})
    stored = []
    for name in ("cat", "dog"):
        (tmp_path / f"{name}.csv").write_text(f"file,label\n0,{name}\n1,{name}\n")
        stored.append(pickle.dumps(penstock.open(source, labels=tmp_path / f"{name}.csv")))
    stored.append(pickle.dumps(penstock.open(source)))
    assert [pickle.loads(data).classes for data in stored] == [("cat",), ("dog",), None]
    assert len(os.listdir(user_cache("in_place"))) == 3
