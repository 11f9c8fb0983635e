"""Listing a folder: what is found, in which order, and what is said about the rest."""

import os

import pytest

from penstock.errors import StorageError, UsageError
from penstock.ingest.kinds import open_source
from penstock.ingest.listing import list_folder
from tests import folders


def listed(root):
    listing = list_folder(str(root))
    return [file.name for file in listing.files], {item.name: item.why for item in listing.skipped}


def test_images_are_found_by_suffix_in_any_case_and_depth(tmp_path):
    names = ["a.JPG", "b.jpeg", "c.png", "d/e/f.WebP", "d/g.TIF", "h.bmp", "i.gif"]
    folders.write(tmp_path, dict.fromkeys([*names, "x.txt", "jpg", "y.jpg.bak"], b""))
    found, skipped = listed(tmp_path)
    assert sorted(found) == sorted(names)
    assert sorted(skipped) == ["jpg", "x.txt", "y.jpg.bak"]


def test_links_are_followed_and_loops_reported(tmp_path):
    folders.write(tmp_path, {"real/1.jpg": b"", "photos/c/2.jpg": b""})
    os.symlink(tmp_path / "real", tmp_path / "photos" / "linked")
    os.symlink(tmp_path / "photos", tmp_path / "photos" / "c" / "again")
    found, skipped = listed(tmp_path / "photos")
    assert found == ["c/2.jpg", "linked/1.jpg"]
    assert skipped == {"c/again": "a link to a folder that contains it"}


def test_what_is_neither_file_nor_folder_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    assert listed(tmp_path) == ([], {"pipe.jpg": "neither a file nor a folder"})


def test_a_folder_that_cannot_be_listed_is_reported(tmp_path, monkeypatch):
    folders.write(tmp_path, {"a/1.jpg": b"", "b/2.jpg": b""})
    scandir = os.scandir

    def refusing(path):
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found, skipped = listed(tmp_path)
    assert found == ["a/1.jpg"]
    assert skipped == {"b": "the folder cannot be listed: Permission denied"}


def test_hidden_folders_are_no_classes(tmp_path):
    folders.write(tmp_path, {"a/1.jpg": b"", ".ipynb_checkpoints/2.jpg": b""})
    source = open_source(str(tmp_path))
    assert source.classes == ("a",)
    assert [item.name for item in source.skipped] == [".ipynb_checkpoints"]


def test_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="not a folder"):
        list_folder(str(tmp_path / "file"))
    with pytest.raises(StorageError, match="No such file"):
        list_folder(str(tmp_path / "nowhere"))


def test_the_digest_follows_names_sizes_times_and_labels(tmp_path):
    folders.write(tmp_path, {"a/1.jpg": b"x", "b/2.jpg": b"y"})
    os.utime(tmp_path / "a" / "1.jpg", (5, 5))
    digests = {open_source(str(tmp_path)).digest()}
    assert open_source(str(tmp_path)).digest() in digests
    changes = [
        lambda: os.utime(tmp_path / "a" / "1.jpg", (6, 6)),
        lambda: (tmp_path / "a" / "1.jpg").write_bytes(b"xx"),
        lambda: os.rename(tmp_path / "a" / "1.jpg", tmp_path / "a" / "3.jpg"),
        lambda: os.rename(tmp_path / "a", tmp_path / "aa"),
        (tmp_path / "empty").mkdir,
    ]
    for number, change in enumerate(changes):
        change()
        digests.add(open_source(str(tmp_path)).digest())
        assert len(digests) == number + 2
