"""20BN's lists of folders of frames: found, numbered, packed frame by frame, and wrong ones named."""

import io

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock.errors import SourceError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import open_source
from penstock.shard.checks import crc32c
from tests import clips, folders
from tests.ingest.conformance import CHECKS, Case, Made, name


def made(root):
    return Made(
        path=str(clips.frame_folders(root)),
        keys=[f"{100 + clip}" for clip in range(6)],
        pictures=[[clips.frame(clip, number) for number in range(clips.frame_count(clip))] for clip in range(6)],
        labels={"label": [2, 1, 0, 2, 1, 0]},
        classes=tuple(sorted(clips.LABELS)),
    )


def change(root):
    folders.write(root, {"frames/103/00001.jpg": clips.frame(9, 9)})


def lose(root):
    folders.write(root, {"frames/104/00002.jpg": b"no picture"})
    return "104"


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_folders_of_frames_are_a_source_like_any_other(check, tmp_path):
    check(Case("20bn-frames", made, change, lose), tmp_path)


def test_clips_and_labels_are_those_of_the_list(tmp_path):
    source = open_source(str(clips.frame_folders(tmp_path)))
    assert source.kind == "20bn-frames"
    assert source.keys == [f"{100 + clip}" for clip in range(6)]
    assert source.classes == tuple(sorted(clips.LABELS))
    assert source.labels.column("label").to_pylist() == [2, 1, 0, 2, 1, 0]
    assert source.fields["clip"].read(4) == [clips.frame(4, number) for number in range(7)]


def test_a_file_of_classes_says_how_they_are_numbered(tmp_path):
    path = clips.frame_folders(tmp_path)
    source = open_source(str(path), options=Options(labels=str(tmp_path / "labels.csv")))
    assert source.classes == clips.LABELS
    assert source.labels.column("label").to_pylist() == [0, 1, 2, 0, 1, 2]


def test_a_list_for_testing_has_no_labels(tmp_path):
    path = clips.frame_folders(tmp_path)
    path.write_text("100\n103\n")
    source = open_source(str(path))
    assert (source.keys, source.classes, source.labels.column_names) == (["100", "103"], None, [])


def test_frames_are_packed_one_after_another_and_are_found_by_length_and_checksum(tmp_path):
    penstock.pack(clips.frame_folders(tmp_path), tmp_path / "c.pen", keep_bytes=True, seed=None)
    dataset = penstock.open(tmp_path / "c.pen")
    frames = dataset.column("clip").frames
    assert dataset.fields == ("clip",)
    for clip, sample in enumerate(dataset):
        expected = [clips.frame(clip, number) for number in range(clips.frame_count(clip))]
        inside = slice(frames.first[clip], frames.first[clip + 1])
        assert sample.fields["clip"].data == b"".join(expected)
        assert frames.length[inside].tolist() == [len(frame) for frame in expected]
        assert frames.offset[inside].tolist() == np.cumsum([0, *map(len, expected[:-1])]).tolist()
        assert frames.crc32c[inside].tolist() == [crc32c(frame) for frame in expected]
    assert penstock.verify(tmp_path / "c.pen").is_sound


def test_tiled_frames_show_the_same_pixels(tmp_path):
    report = penstock.pack(clips.frame_folders(tmp_path), tmp_path / "c.pen", seed=None)
    assert report.outcomes == {"tiled": 6}
    dataset = penstock.open(tmp_path / "c.pen")
    data, frames = dataset[1].fields["clip"].data, dataset.column("clip").frames
    for number, at in enumerate(range(frames.first[1], frames.first[2])):
        frame = data[frames.offset[at] : frames.offset[at] + frames.length[at]]
        pixels, expected = (np.asarray(Image.open(io.BytesIO(one))) for one in (frame, clips.frame(1, number)))
        assert np.array_equal(pixels, expected)


def test_a_short_side_makes_frames_smaller(tmp_path):
    penstock.pack(clips.frame_folders(tmp_path), tmp_path / "c.pen", short_side=20)
    column = penstock.open(tmp_path / "c.pen").column("clip")
    assert (set(column.width.tolist()), set(column.height.tolist())) == ({28}, {20})


def test_a_flipped_bit_in_a_frame_is_found_and_named(tmp_path):
    penstock.pack(clips.frame_folders(tmp_path), tmp_path / "c.pen", seed=None)
    column = penstock.open(tmp_path / "c.pen").column("clip")
    shard = tmp_path / "c.pen" / "shards" / "000000.tar"
    data = bytearray(shard.read_bytes())
    data[column.offset[2] + column.frames.offset[column.frames.first[2] + 1] + 40] ^= 1
    shard.write_bytes(data)
    report = penstock.verify(tmp_path / "c.pen")
    assert report.damaged_samples == ("102",)


def test_frames_of_several_sizes_make_no_clip(tmp_path):
    path = clips.frame_folders(tmp_path)
    folders.write(tmp_path, {"frames/102/00002.jpg": clips.frame(9, 9, width=64)})
    with pytest.raises(SourceError, match="the frames' sizes differ: got 56x40 and 64x40"):
        penstock.pack(path, tmp_path / "c.pen")
    report = penstock.pack(path, tmp_path / "c.pen", on_error="skip", force=True)
    assert (report.samples, [one.name for one in report.skipped]) == (5, ["102"])


def test_a_clip_without_frames_is_reported(tmp_path):
    path = clips.frame_folders(tmp_path)
    path.write_text(path.read_text() + "\n999;Stop Sign\n")
    with pytest.raises(SourceError, match="No such file or directory"):
        penstock.pack(path, tmp_path / "c.pen")
    report = penstock.pack(path, tmp_path / "c.pen", on_error="skip")
    assert (report.samples, str(report.skipped[0])) == (6, "999: unreadable: No such file or directory")


def test_a_list_without_clips_says_where_they_could_be(tmp_path):
    path = clips.frame_folders(tmp_path)
    (tmp_path / "frames").rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no clips beside this list"):
        open_source(str(path), "20bn-frames")
    assert len(open_source(str(path), "20bn-frames", Options(root=str(tmp_path / "elsewhere")))) == 6


@pytest.mark.parametrize("line", ["100;a;b", ";Stop Sign", "../100;Stop Sign"])
def test_a_line_that_is_none_is_named(tmp_path, line):
    path = clips.frame_folders(tmp_path)
    path.write_text(path.read_text() + f"\n{line}\n")
    with pytest.raises(SourceError, match=r"a line is not `id;label`: got line 7: "):
        open_source(str(path), "20bn-frames")


def test_options_that_a_kind_does_not_know_are_refused(tmp_path):
    with pytest.raises(UsageError, match="a source of kind 20bn-frames has no frame_rate"):
        open_source(str(clips.frame_folders(tmp_path)), options=Options(frame_rate=8))


def test_clips_are_not_stored_as_pixels(tmp_path):
    with pytest.raises(UsageError, match="these are clips"):
        penstock.pack(clips.frame_folders(tmp_path), tmp_path / "c.pen", raw=True)
