"""Folders of videos: classes from folders, frames as the options say, and what is no video reported."""

import json
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.errors import SourceError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, open_source
from penstock.ingest.recipe import Recipe
from tests import folders, images, videos
from tests.ingest.conformance import CHECKS, Case, Made, name

FILES = {
    "cook/a.mp4": videos.video("mp4", seed=1),
    "cook/b.webm": videos.video("webm", seed=2),
    "cook/c.MKV": videos.video("mkv", seed=3),
    "swim/a.avi": videos.video("avi", seed=4),
    "swim/b.mov": videos.video("mov", videos.even(3), seed=5),
}


def made(root: Path) -> Made:
    return Made(
        path=str(folders.write(root, FILES)),
        keys=["cook/a", "cook/b", "cook/c", "swim/a", "swim/b"],
        pictures=[[b""] * 10] * 4 + [[b""] * 3],
        labels={"label": [0, 0, 0, 1, 1]},
        classes=("cook", "swim"),
        is_exact=False,
    )


def change(root: Path) -> None:
    folders.write(root, {"cook/b.webm": videos.video("webm", seed=99)})


def lose(root: Path) -> str:
    folders.write(root, {"swim/a.avi": FILES["swim/a.avi"][:-100]})
    return "swim/a.avi"


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_folder_of_videos_is_a_source_like_any_other(check, tmp_path):
    check(Case("video-folder", made, change, lose), tmp_path)


def test_frames_are_packed_as_they_are_read_and_never_encoded_twice(tmp_path):
    path, recipe = made(tmp_path / "videos").path, Recipe(short_side=24, quality=60, keep_bytes=False)
    source = open_source(path, options=Options(frame_rate=5, recipe=recipe))
    report = penstock.pack(path, tmp_path / "v.pen", frame_rate=5, short_side=24, quality=60, seed=None)
    dataset = penstock.open(tmp_path / "v.pen")
    assert report.outcomes == {"re-encoded": 5}
    assert report.source_bytes == sum(map(len, FILES.values()))
    for number, clip in enumerate(dataset):
        frames = source.fields["clip"].read(number)
        assert len(frames) == (5 if number < 4 else 2)
        assert clip.clip().shape == (len(frames), 24, 32, 3)
        assert np.array_equal(clip.clip(), np.stack([images.rgb(frame) for frame in frames]))


def test_the_bytes_do_not_depend_on_threads_or_the_run(tmp_path):
    path = made(tmp_path / "videos").path
    for run, workers in (("one", 1), ("two", 4)):
        penstock.pack(path, tmp_path / run, workers=workers, frame_rate=8)
    assert folders.content(tmp_path / "one") == folders.content(tmp_path / "two")


def test_the_manifest_says_the_rate_and_another_rate_is_another_dataset(tmp_path):
    path = made(tmp_path / "videos").path
    penstock.pack(path, tmp_path / "v.pen", frame_rate=8)
    assert json.loads((tmp_path / "v.pen" / "penstock.json").read_text())["pack"]["frame_rate"] == 8
    digests = {
        open_source(path, options=Options(frame_rate=rate, recipe=Recipe(quality=quality))).digest()
        for rate in (None, 8, 9)
        for quality in (None, 70)
    }
    assert len(digests) == 6


def test_what_is_no_video_is_reported_and_what_has_no_class(tmp_path):
    path = folders.write(tmp_path / "videos", {**FILES, "loose.mp4": b"", "cook/notes.txt": b"", ".hidden": b""})
    source = open_source(str(path))
    assert sorted((item.name, item.outcome) for item in source.skipped) == [
        (".hidden", "not a video"),
        ("cook/notes.txt", "not a video"),
        ("loose.mp4", "unlabelled"),
    ]


def test_a_flat_folder_of_videos_has_no_labels(tmp_path):
    path = folders.write(tmp_path, {"a.mp4": FILES["cook/a.mp4"]})
    source = open_source(str(path))
    assert (source.kind, source.keys, source.classes, source.labels.column_names) == ("video-folder", ["a"], None, [])


def test_a_folder_with_images_is_one_of_images_unless_it_is_said(tmp_path):
    path = str(folders.write(tmp_path, {**FILES, "cook/poster.jpg": folders.jpeg()}))
    assert kind_at(path).name == "image-folder"
    assert len(open_source(path, "video-folder")) == 5


def test_links_to_folders_are_followed_and_not_in_circles(tmp_path):
    folders.write(tmp_path / "elsewhere", {"a.mp4": FILES["cook/a.mp4"]})
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "cook").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "up").symlink_to(tmp_path / "videos")
    source = open_source(str(tmp_path / "videos"))
    assert (source.kind, source.keys) == ("video-folder", ["cook/a"])


def test_a_folder_without_videos_says_what_it_wants(tmp_path):
    with pytest.raises(UsageError, match=r"no videos here: got 1 other files, expected videos \(\.mp4"):
        open_source(str(folders.write(tmp_path, {"a.jpg": folders.jpeg()})), "video-folder")


def test_a_video_that_is_renamed_from_something_else_is_named(tmp_path):
    path = folders.write(tmp_path / "videos", {**FILES, "cook/b.webm": folders.jpeg()})
    with pytest.raises(SourceError, match=r"broken: the video cannot be decoded.*\(file cook/b\.webm\)"):
        penstock.pack(path, tmp_path / "v.pen")


def test_a_pack_that_was_interrupted_goes_on_to_the_same_bytes(tmp_path):
    path = made(tmp_path / "videos").path
    settings = {"frame_rate": 8, "shard_bytes": 20_000, "workers": 2}

    def interrupting(progress):
        if progress.items == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        penstock.pack(path, tmp_path / "resumed", progress=interrupting, **settings)
    assert penstock.pack(path, tmp_path / "resumed", **settings).resumed_items > 0
    penstock.pack(path, tmp_path / "whole", **settings)
    assert folders.content(tmp_path / "resumed") == folders.content(tmp_path / "whole")


def test_another_rate_does_not_go_on_with_what_was_begun(tmp_path):
    path = made(tmp_path / "videos").path

    def interrupting(progress):
        if progress.items == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        penstock.pack(path, tmp_path / "v.pen", progress=interrupting, frame_rate=8, shard_bytes=20_000)
    with pytest.raises(UsageError, match="other settings"):
        penstock.pack(path, tmp_path / "v.pen", frame_rate=9, shard_bytes=20_000)
