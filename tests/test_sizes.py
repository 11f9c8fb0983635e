"""What a dataset takes on disk: the parts add up to what `du` says, for every form."""

import subprocess

import numpy as np

import penstock
from penstock.ingest.kinds import open_source
from penstock.sizes import sizes_of, sizes_of_source
from tests import clips, folders, gulps, images


def du(path):
    done = subprocess.run(["du", "--summarize", "--block-size=1", path], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


def payload():
    return sum(len(clips.frame(clip, number)) for clip in range(6) for number in range(clips.frame_count(clip)))


def test_folders_of_frames(tmp_path):
    source = open_source(str(clips.frame_folders(tmp_path)))
    sizes = sizes_of_source(source)
    assert sizes.total == du(tmp_path / "frames")
    assert (sizes.payload, sizes.padding, sizes.index) == (payload(), 0, 0)
    assert sizes.files == sum(map(clips.frame_count, range(6)))
    assert sizes.slack > 0


def test_a_folder_of_images(tmp_path):
    photos = folders.classes(tmp_path / "photos")
    sizes = sizes_of(penstock.open(photos))
    assert sizes.total == du(photos)
    assert (sizes.files, sizes.payload) == (12, sum(map(len, folders.content(photos).values())))


def test_a_directory_of_gulpio(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", range(6), 2)
    sizes = sizes_of(penstock.open(tmp_path / "g"))
    content = folders.content(tmp_path / "g")
    jpegs = sum(len(frame) for frames, _ in gulps.read_by_gulpio2(tmp_path / "g").values() for frame in frames)
    data = sum(len(value) for name, value in content.items() if name.endswith(".gulp"))
    assert sizes.total == du(tmp_path / "g")
    assert (sizes.files, sizes.payload, sizes.padding) == (7, jpegs, data - jpegs)
    assert sizes.index == sum(map(len, content.values())) - data


def test_a_packed_dataset(tmp_path):
    penstock.pack(clips.frame_folders(tmp_path), tmp_path / "c.pen", keep_bytes=True)
    sizes = sizes_of(penstock.open(tmp_path / "c.pen"))
    content = folders.content(tmp_path / "c.pen")
    assert sizes.total == du(tmp_path / "c.pen")
    assert (sizes.files, sizes.payload) == (3, payload())
    assert sizes.index == len(content["index.parquet"]) + len(content["penstock.json"])
    assert sizes.padding == len(content["shards/000000.tar"]) - sizes.payload


def test_images_and_masks_are_both_counted(tmp_path):
    photos = folders.classes(tmp_path / "photos", 4)
    masks = folders.write(
        tmp_path / "masks", {f"c0/{i:03d}.png": images.png(np.full((24, 40), i, np.uint8)) for i in range(4)}
    )
    penstock.pack(photos, tmp_path / "m.pen", masks=masks, keep_bytes=True)
    sizes = sizes_of(penstock.open(tmp_path / "m.pen"))
    assert sizes.payload == sum(map(len, [*folders.content(photos).values(), *folders.content(masks).values()]))
    assert sizes.total == du(tmp_path / "m.pen")
