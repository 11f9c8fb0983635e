"""Exporting: the files come back, by name and by pixel."""

import csv
import json
import os

import numpy as np
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.errors import ChecksumError, FormatError, UsageError
from penstock.shard.checks import sha256
from penstock.shard.index import encode_index
from tests import clips, folders, gulps, images

NAMES = {
    "a/1.JPEG": folders.jpeg(1),
    "a/1.png": folders.png(2),
    "a/two.dots.jpg": folders.jpeg(3),
    "a/sub/__x__.jpeg": folders.jpeg(4),
    "__b__/ü 100%.jpg": folders.jpeg(5),
    "b/" + "n" * 200 + ".jpg": folders.jpeg(6),
    os.fsdecode(b"b/caf\xe9.jpg"): folders.jpeg(7),
    "b/line\nfeed.jpg": folders.jpeg(8),
}


def test_every_file_comes_back_under_its_name_with_its_pixels(tmp_path):
    source = folders.write(tmp_path / "photos", NAMES)
    penstock.pack(source, tmp_path / "p.pen")
    report = penstock.export(tmp_path / "p.pen", tmp_path / "back")
    back = folders.content(tmp_path / "back")
    assert sorted(back) == sorted(NAMES)
    assert (report.files, report.bytes) == (len(NAMES), sum(len(data) for data in back.values()))
    for name, data in NAMES.items():
        assert np.array_equal(images.rgb(back[name]), images.rgb(data)), name


@pytest.mark.parametrize("to", ["folder", "gulp", "webdataset"])
def test_a_url_is_no_folder_to_export_into(tmp_path, monkeypatch, to):
    monkeypatch.chdir(tmp_path)
    source = folders.classes(tmp_path / "photos")
    with pytest.raises(UsageError, match="an export is written into a folder of this machine"):
        penstock.export(source, "s3://bucket/out", to=to)
    assert os.listdir(tmp_path) == ["photos"]


def test_untouched_bytes_come_back_exactly(tmp_path):
    source = folders.write(tmp_path / "photos", NAMES)
    penstock.pack(source, tmp_path / "p.pen", keep_bytes=True)
    penstock.export(tmp_path / "p.pen", tmp_path / "back")
    assert folders.content(tmp_path / "back") == NAMES
    penstock.export(source, tmp_path / "copy")  # a folder opened in place is a dataset like any other
    assert folders.content(tmp_path / "copy") == NAMES


def test_raw_pixels_come_back_as_png(tmp_path):
    source = folders.write(tmp_path / "photos", {"a/1.JPEG": folders.jpeg(1), "a/1.png": folders.png(2)})
    penstock.pack(source, tmp_path / "p.pen", raw=True)
    penstock.export(tmp_path / "p.pen", tmp_path / "back")
    back = folders.content(tmp_path / "back")
    assert sorted(back) == ["a/1.JPEG.png", "a/1.png"]  # the two shared a stem, so their suffixes stay in their names
    assert np.array_equal(images.rgb(back["a/1.JPEG.png"]), images.rgb(folders.jpeg(1)))


def test_a_name_follows_the_format_of_its_bytes(tmp_path):
    source = folders.write(tmp_path / "photos", {"a/big.png": folders.png(2, 90, 60)})
    penstock.pack(source, tmp_path / "p.pen", max_side=50)
    penstock.export(tmp_path / "p.pen", tmp_path / "back")
    assert list(folders.content(tmp_path / "back")) == ["a/big.jpg"]


def test_masks_and_labels_come_back(tmp_path):
    files = {f"{i}.jpg": folders.jpeg(i) for i in range(3)}
    masks = {f"{i}.png": images.png(np.full((24, 40), i, np.uint8)) for i in range(3)}
    folders.write(tmp_path / "photos", files)
    (tmp_path / "l.csv").write_text("file,label,score\n0,cat,1.5\n1,dog,2\n2.jpg,cat,3\n")
    penstock.pack(
        tmp_path / "photos",
        tmp_path / "p.pen",
        labels=tmp_path / "l.csv",
        masks=folders.write(tmp_path / "masks", masks),
        keep_bytes=True,
        seed=None,
    )
    penstock.export(tmp_path / "p.pen", tmp_path / "back")
    back = folders.content(tmp_path / "back")
    rows = list(csv.reader(back.pop("labels.csv").decode().splitlines()))
    assert rows == [["file", "label", "score"], ["0.jpg", "cat", "1.5"], ["1.jpg", "dog", "2"], ["2.jpg", "cat", "3"]]
    wanted = {f"image/{name}": data for name, data in files.items()}
    assert back == wanted | {f"mask/{name}": data for name, data in masks.items()}


@pytest.mark.parametrize("raw", [False, True])
def test_a_mask_keeps_its_name_where_two_images_share_a_stem(tmp_path, raw):
    names = ["x/1.jpg", "x/1.png", "x/two.dots.jpg", "y/2.jpg"]
    source = folders.write(tmp_path / "photos", {name: folders.jpeg() for name in names})
    masks = ["x/1.png", "x/two.dots.png", "y/2.png"]
    folders.write(tmp_path / "masks", dict.fromkeys(masks, images.png(np.zeros((24, 40), np.uint8))))
    penstock.pack(source, tmp_path / "p.pen", masks=tmp_path / "masks", on_error="skip", raw=raw)
    penstock.export(tmp_path / "p.pen", tmp_path / "back")
    assert sorted(folders.content(tmp_path / "back" / "mask")) == masks


def test_nothing_is_overwritten_without_force(tmp_path):
    source = folders.classes(tmp_path / "photos", 2)
    folders.write(tmp_path / "back", {"c0/000.JPEG": b"mine", "note": b"mine"})
    with pytest.raises(UsageError, match=r"not empty(.|\n)*--force"):
        penstock.export(source, tmp_path / "back")
    assert folders.content(tmp_path / "back") == {"c0/000.JPEG": b"mine", "note": b"mine"}
    penstock.export(source, tmp_path / "back", force=True)
    assert folders.content(tmp_path / "back")["c0/000.JPEG"] == folders.jpeg(0)


def test_damage_stops_an_export(tmp_path):
    penstock.pack(folders.classes(tmp_path / "photos", 2), tmp_path / "p.pen")
    shard = tmp_path / "p.pen" / "shards" / "000000.tar"
    data = bytearray(shard.read_bytes())
    data[700] ^= 1
    shard.write_bytes(data)
    with pytest.raises(ChecksumError):
        penstock.export(tmp_path / "p.pen", tmp_path / "back")


@pytest.mark.parametrize("classes", [[], ["c0"]])
def test_labels_that_are_no_classes_stop_an_export_before_it_begins(tmp_path, classes):
    penstock.pack(folders.classes(tmp_path / "photos", 8), tmp_path / "p.pen")
    body = json.loads((tmp_path / "p.pen" / "penstock.json").read_bytes())
    (tmp_path / "p.pen" / "penstock.json").write_text(json.dumps(body | {"classes": classes}))
    with pytest.raises(FormatError, match=r"is no class(.|\n)*penstock verify"):
        penstock.export(tmp_path / "p.pen", tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("key", ["../evil", "/tmp/evil", "a/%2E%2E/%2E%2E/%2E%2E/evil", "a//b", "a%00"])
def test_a_dataset_from_elsewhere_cannot_write_outside_the_folder(tmp_path, key):
    penstock.pack(folders.classes(tmp_path / "photos", 1), tmp_path / "p.pen")
    table = pq.read_table(tmp_path / "p.pen" / "index.parquet")
    encoded = encode_index(table.set_column(0, "key", [[key]]))
    (tmp_path / "p.pen" / "index.parquet").write_bytes(encoded)
    body = json.loads((tmp_path / "p.pen" / "penstock.json").read_bytes())
    body["index"].update(bytes=encoded.size, sha256=sha256(encoded))
    (tmp_path / "p.pen" / "penstock.json").write_text(json.dumps(body))
    with pytest.raises(FormatError, match="leave the dataset"):
        penstock.export(tmp_path / "p.pen", tmp_path / "x" / "back")
    assert not [name for name in folders.content(tmp_path) if "evil" in name]


def test_a_file_that_is_no_image_comes_back_as_it_was(tmp_path):
    files = {"a/1.jpg": b"<html>", "a/2.jpg": folders.jpeg()}
    penstock.export(folders.write(tmp_path / "photos", files), tmp_path / "back")
    assert folders.content(tmp_path / "back") == files


def test_clips_come_back_as_folders_of_frames_with_a_list_and_can_be_packed_again(tmp_path):
    clips.frame_folders(tmp_path)
    penstock.pack(tmp_path / "train.csv", tmp_path / "c.pen", keep_bytes=True)
    report = penstock.export(tmp_path / "c.pen", tmp_path / "back")
    frames = {name.removeprefix("frames/"): data for name, data in folders.content(tmp_path / "frames").items()}
    back = folders.content(tmp_path / "back")
    assert sorted(back) == sorted([*frames, "clips.csv", "labels.csv"])
    assert {name: back[name] for name in frames} == frames
    assert (report.samples, report.files, report.bytes) == (6, len(frames), sum(map(len, frames.values())))
    listed = sorted(back["clips.csv"].decode().splitlines())
    assert listed == sorted((tmp_path / "train.csv").read_text().splitlines())
    again = penstock.pack(tmp_path / "back" / "clips.csv", tmp_path / "again.pen", keep_bytes=True)
    assert again.samples == 6


def test_frames_of_a_gulp_directory_come_back_without_their_padding(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", range(4), 2)
    penstock.export(tmp_path / "g", tmp_path / "back")
    back = folders.content(tmp_path / "back")
    for id_, (frames, _) in gulps.read_by_gulpio2(tmp_path / "g").items():
        assert [back[f"{id_}/{number:05d}.jpg"] for number in range(1, len(frames) + 1)] == frames
    header, *rows = csv.reader(back["labels.csv"].decode().splitlines())
    assert header == ["file", "label", "take"]
    assert rows[1] == ["101", gulps.label(1), "1"]


def test_a_dataset_is_not_exported_onto_itself(tmp_path):
    source = folders.classes(tmp_path / "photos", 2)
    before = folders.content(source)
    with pytest.raises(UsageError, match="the destination is the dataset itself"):
        penstock.export(source, tmp_path / "x" / ".." / "photos", force=True)
    assert folders.content(source) == before
