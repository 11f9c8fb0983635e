"""Exporting to WebDataset: the real webdataset reads every sample, and its members are the files."""

import gc
import io
import json
import tarfile

import pytest
import webdataset

import penstock
from penstock.errors import ImageError, UsageError
from tests import clips, folders, gulps, images

# webdataset leaves its files to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def _collected():
    yield
    gc.collect()


def tars(path, folder, **options):
    return penstock.export(path, folder, to="webdataset", **options)


def read(folder):
    """What webdataset finds, sample by sample, undecoded."""
    names = [str(path) for path in sorted(folder.glob("*.tar"))]
    found = list(webdataset.WebDataset(names, shardshuffle=False, empty_check=False))
    return [{name: value for name, value in sample.items() if not name.startswith("__url")} for sample in found]


def test_webdataset_reads_images_with_their_labels(tmp_path):
    photos = folders.write(tmp_path / "photos", {"a/1.jpg": folders.jpeg(1), "b/x.y.png": folders.png(2)})
    report = tars(photos, tmp_path / "w")
    assert read(tmp_path / "w") == [
        {"__key__": "a/1", "__local_path__": str(tmp_path / "w" / "000000.tar"), "jpg": folders.jpeg(1), "cls": b"0"},
        {
            "__key__": "b/x%2Ey",
            "__local_path__": str(tmp_path / "w" / "000000.tar"),
            "png": folders.png(2),
            "cls": b"1",
        },
    ]
    assert (tmp_path / "w" / "classes.txt").read_text() == "a\nb\n"
    assert (report.samples, report.files, report.bytes) == (2, 1, len(folders.jpeg(1)) + len(folders.png(2)))


def test_frames_of_clips_are_members_that_webdataset_decodes(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", range(4), 2)
    tars(tmp_path / "g", tmp_path / "w")
    expected = gulps.read_by_gulpio2(tmp_path / "g")
    found = read(tmp_path / "w")
    assert [sample["__key__"] for sample in found] == list(expected)
    for sample, (frames, said) in zip(found, expected.values(), strict=True):
        assert [sample[f"{number:05d}.jpg"] for number in range(1, len(frames) + 1)] == frames
        assert int(sample["cls"]) == said["idx"]
        assert json.loads(sample["json"]) == {"take": said["take"]}
    decoded = next(iter(webdataset.WebDataset(str(tmp_path / "w" / "000000.tar"), shardshuffle=False).decode("rgb8")))
    assert (decoded["00002.jpg"] == images.rgb(expected["100"][0][1])).all()


def test_a_shard_ends_before_it_is_too_large(tmp_path):
    penstock.pack(clips.frame_folders(tmp_path, 9), tmp_path / "c.pen", keep_bytes=True, seed=None)
    report = tars(tmp_path / "c.pen", tmp_path / "w", shard_bytes=40_000)
    sizes = [path.stat().st_size for path in sorted((tmp_path / "w").glob("*.tar"))]
    assert report.files == len(sizes) > 2
    assert max(sizes) <= 40_000
    assert [sample["__key__"] for sample in read(tmp_path / "w")] == [f"{100 + clip}" for clip in range(9)]
    with tarfile.open(tmp_path / "w" / "000001.tar") as tar:  # whole, by another reader
        assert all(member.isfile() for member in tar.getmembers())


def test_force_leaves_no_shard_of_another_export(tmp_path):
    photos = folders.classes(tmp_path / "photos", 12)
    tars(photos, tmp_path / "w", shard_bytes=8000)
    tars(photos, tmp_path / "w", force=True)
    assert sorted(folders.content(tmp_path / "w")) == ["000000.tar", "classes.txt"]


def test_what_is_no_image_stops_an_export_and_leaves_no_half_of_a_shard(tmp_path):
    photos = folders.write(tmp_path / "photos", {"1.jpg": folders.jpeg(1), "2.jpg": b"<html>"})
    with pytest.raises(ImageError, match="sample 2"):
        tars(photos, tmp_path / "w")
    assert folders.content(tmp_path / "w") == {}


def test_samples_of_one_key_would_become_one(tmp_path):
    penstock.pack(folders.classes(tmp_path / "photos", 2), tmp_path / "p.pen")
    with pytest.raises(UsageError, match="2 samples have one name"):
        tars(penstock.join([tmp_path / "p.pen", tmp_path / "p.pen"]), tmp_path / "w")


def test_what_was_exported_is_opened_again_where_it_is(tmp_path):
    photos = folders.classes(tmp_path / "photos", 12)
    tars(photos, tmp_path / "w", shard_bytes=9000)
    here, back = penstock.open(photos), penstock.open(tmp_path / "w", labels=tmp_path / "w" / "classes.txt")
    assert back.classes == here.classes == ("c0", "c1", "c2")
    assert back.labels("label").tolist() == here.labels("label").tolist()
    for one, other in zip(here, back, strict=True):
        assert (one.key, one.fields["image"].data) == (other.key, other.fields["image"].data)


def test_clips_that_were_exported_are_opened_and_packed_again(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", range(7), 3)
    tars(tmp_path / "g", tmp_path / "w", shard_bytes=30_000)
    here, back = penstock.open(tmp_path / "g"), penstock.open(tmp_path / "w")
    assert (back.fields, back.lost, back.label_names) == (("clip",), (), ("label", "take"))
    for one, other in zip(here, back, strict=True):
        assert (one.key, one.fields["clip"], one.labels) == (other.key, other.fields["clip"], other.labels)
    assert back[3, [1, 0]].fields["clip"].data == here[3, [1, 0]].fields["clip"].data
    penstock.pack(tmp_path / "w", tmp_path / "w.pen", keep_bytes=True, seed=None)
    packed = penstock.open(tmp_path / "w.pen")
    assert [one.fields["clip"].data for one in packed] == [one.fields["clip"].data for one in here]


def test_a_field_of_clips_beside_another_keeps_its_name(tmp_path):
    members = {"a.00001.jpg": 1, "a.00002.jpg": 2, "a.flow_clip.00001.jpg": 3, "a.cls": None, "b.00001.jpg": 4}
    members |= {"b.flow_clip.00002.jpg": 5, "b.flow_clip.00001.jpg": 6, "b.cls": None}
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for name, seed in members.items():
            data = b"0" if seed is None else folders.jpeg(seed)
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    dataset = penstock.open(tmp_path / "x.tar")
    assert sorted(dataset.fields) == ["clip", "flow_clip"]
    assert dataset[0].fields["clip"].data == folders.jpeg(1) + folders.jpeg(2)
    assert dataset[1].fields["flow_clip"].data == folders.jpeg(6) + folders.jpeg(5)  # by number
