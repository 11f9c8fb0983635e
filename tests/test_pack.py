"""Packing: what goes in, what comes out, what is refused, and that the bytes depend on nothing else."""

import csv
import dataclasses
import json
import os
import resource
import sys
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import penstock
from penstock.errors import SourceError, StorageError, UsageError
from penstock.ingest.kinds import open_source
from tests import folders, images


@contextmanager
def largest_file(size):
    """The disk takes no file larger than this: the kernel's own refusal, without a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_class_folder_becomes_a_dataset(tmp_path):
    source = folders.classes(tmp_path / "photos")
    seen = []
    report = penstock.pack(source, tmp_path / "p.pen", progress=seen.append)
    assert (report.samples, report.shards, report.outcomes) == (12, 1, {"tiled": 12})
    assert report.source_bytes == sum(len(data) for data in folders.content(source).values())
    assert [progress.items for progress in seen] == list(range(1, 13))
    assert (seen[-1].source_bytes, seen[-1].outcomes) == (seen[-1].total_bytes, {"tiled": 12})
    assert sorted(os.listdir(tmp_path / "p.pen")) == ["index.parquet", "penstock.json", "shards"]
    dataset = penstock.open(tmp_path / "p.pen")
    assert dataset.classes == ("c0", "c1", "c2")
    for sample in dataset:
        name = sample.key + ".JPEG"
        assert sample.labels == {"label": int(sample.key[1])}
        assert np.array_equal(sample.image(), images.rgb((source / name).read_bytes()))


def test_the_bytes_are_the_same_for_any_number_of_workers(tmp_path):
    source = folders.classes(tmp_path / "photos")
    for workers in (1, 3):
        penstock.pack(source, tmp_path / f"{workers}.pen", workers=workers, shard_bytes=12_000)
    one = folders.content(tmp_path / "1.pen")
    assert one == folders.content(tmp_path / "3.pen")
    assert len(one) > 4


def test_nothing_stored_knows_where_the_source_was(tmp_path):
    for place in ("a", "b/c"):
        penstock.pack(folders.classes(tmp_path / place / "photos"), tmp_path / place / "p.pen")
    assert folders.content(tmp_path / "a" / "p.pen") == folders.content(tmp_path / "b/c" / "p.pen")


def test_the_seed_shuffles_and_no_seed_keeps_the_order(tmp_path):
    source = folders.classes(tmp_path / "photos")
    keys = {}
    for seed in (None, 0, 1):
        penstock.pack(source, tmp_path / f"{seed}.pen", seed=seed)
        keys[seed] = penstock.open(tmp_path / f"{seed}.pen").index.column("key").to_pylist()
    assert keys[None] == sorted(keys[0]) == sorted(keys[1])
    assert len({tuple(order) for order in keys.values()}) == 3


def test_shards_end_where_the_next_sample_does_not_fit(tmp_path):
    source = folders.classes(tmp_path / "photos")
    report = penstock.pack(source, tmp_path / "p.pen", shard_bytes=12_000)
    sizes = [path.stat().st_size for path in sorted((tmp_path / "p.pen" / "shards").iterdir())]
    assert report.shards == len(sizes) > 2
    assert all(size <= 12_000 for size in sizes)
    penstock.pack(source, tmp_path / "q.pen", shard_bytes=1)  # smaller than any sample: one each
    assert len(os.listdir(tmp_path / "q.pen" / "shards")) == 12


def test_keep_bytes_stores_files_untouched(tmp_path):
    source = folders.write(tmp_path / "photos", {"a/1.jpg": folders.jpeg(), "a/2.png": folders.png()})
    report = penstock.pack(source, tmp_path / "p.pen", keep_bytes=True)
    assert report.kept == {"as asked": 2}
    stored = {sample.key: sample.fields["image"].data for sample in penstock.open(tmp_path / "p.pen")}
    assert stored == {"a/1": folders.jpeg(), "a/2": folders.png()}


def test_what_cannot_be_tiled_is_kept_with_the_reason(tmp_path):
    cmyk = Image.fromarray(images.photo(40, 24)).convert("CMYK")
    cmyk.save(tmp_path / "cmyk.jpg")
    data = {"a/cmyk.jpg": (tmp_path / "cmyk.jpg").read_bytes(), "a/b.png": folders.png()}
    report = penstock.pack(folders.write(tmp_path / "photos", data), tmp_path / "p.pen")
    assert report.outcomes == {"kept": 2}
    assert report.kept["png"] == 1
    assert sum(report.kept.values()) == 2


def test_max_side_scales_down_only_what_is_larger(tmp_path):
    source = folders.write(
        tmp_path / "photos", {"a/large.jpg": folders.jpeg(1, 300, 200), "a/small.jpg": folders.jpeg(2, 40, 24)}
    )
    report = penstock.pack(source, tmp_path / "p.pen", max_side=150, quality=80)
    assert report.outcomes == {"re-encoded": 1, "tiled": 1}
    sizes = {sample.key: sample.image().shape for sample in penstock.open(tmp_path / "p.pen")}
    assert sizes == {"a/large": (100, 150, 3), "a/small": (24, 40, 3)}
    large = next(sample for sample in penstock.open(tmp_path / "p.pen") if sample.key == "a/large").image()
    wanted = Image.fromarray(images.rgb(folders.jpeg(1, 300, 200))).resize((150, 100), Image.Resampling.LANCZOS)
    assert np.abs(large.astype(int) - np.asarray(wanted)).mean() < 5  # JPEG at quality 80


def test_encoding_again_keeps_the_orientation(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    data = images.jpeg(images.photo(90, 60), exif=exif.tobytes())
    penstock.pack(folders.write(tmp_path / "photos", {"a/1.jpg": data}), tmp_path / "p.pen", quality=70)
    (tmp_path / "out.jpg").write_bytes(penstock.open(tmp_path / "p.pen")[0].fields["image"].data)
    with Image.open(tmp_path / "out.jpg") as image:
        assert image.getexif()[0x0112] == 6


def test_raw_stores_the_pixels(tmp_path):
    source = folders.write(tmp_path / "photos", {"a/1.jpg": folders.jpeg(1), "b/2.png": folders.png(2)})
    report = penstock.pack(source, tmp_path / "p.pen", raw=True)
    assert report.outcomes == {"decoded": 2}
    dataset = penstock.open(tmp_path / "p.pen")
    assert dataset.column("image").formats == ("npy",)
    for sample in dataset:
        origin = folders.jpeg(1) if sample.key == "a/1" else folders.png(2)
        assert np.array_equal(sample.image(), images.rgb(origin))


def test_masks_are_a_second_field(tmp_path):
    source = folders.classes(tmp_path / "photos", 4)
    mask = images.png(np.arange(40 * 24, dtype=np.uint8).reshape(24, 40))
    folders.write(tmp_path / "masks", {f"c0/{i:03d}.png": mask for i in range(3)} | {"c0/other.png": mask})
    with pytest.raises(SourceError, match="has no mask"):
        penstock.pack(source, tmp_path / "p.pen", masks=tmp_path / "masks")
    report = penstock.pack(source, tmp_path / "p.pen", masks=tmp_path / "masks", on_error="skip", max_side=20)
    assert [(item.name, item.why) for item in report.skipped] == [
        ("c0/003.JPEG", "has no mask"),
        ("c0/other.png", "a mask without an image"),
    ]
    dataset = penstock.open(tmp_path / "p.pen")
    assert (len(dataset), dataset.fields) == (3, ("image", "mask"))
    assert dataset[0].mask().shape == (12, 20, 1)
    assert dataset[0].image().shape == (12, 20, 3)


def test_labels_of_many_types_come_from_a_csv_file(tmp_path):
    source = folders.write(tmp_path / "photos", {f"{i}.jpg": folders.jpeg(i) for i in range(4)})
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "label", "age", "score", "note"])
        rows.writerows([[f"{i}.jpg", "cat" if i % 2 else "dog", 10 * i, i / 4, f"ü{i}"] for i in range(4)])
    penstock.pack(source, tmp_path / "p.pen", labels=tmp_path / "labels.csv", seed=None)
    dataset = penstock.open(tmp_path / "p.pen")
    assert dataset.classes == ("cat", "dog")
    assert dataset.labels("label").tolist() == [1, 0, 1, 0]
    assert dataset.labels("age").tolist() == [0, 10, 20, 30]
    assert dataset.labels("score").tolist() == [0, 0.25, 0.5, 0.75]
    assert dataset.labels("note").to_pylist() == ["ü0", "ü1", "ü2", "ü3"]
    assert dataset[2].labels == {"label": 1, "age": 20, "score": 0.5, "note": "ü2"}


def test_labels_that_are_lists_are_packed_and_loaded(tmp_path, monkeypatch):
    source = folders.classes(tmp_path / "photos", 4)
    tags = [["a", "b"], [], ["c"], ["ü"]]
    boxes = [[[0.5, 1.0]], [], [[1.0, 2.0], [3.0, 4.0]], []]

    def with_lists(*arguments, **options):  # no CSV file can say this
        found = open_source(*arguments, **options)
        lists = {"tags": pa.array(tags), "boxes": pa.array(boxes)}
        return dataclasses.replace(found, labels=pa.table({"label": found.labels.column("label"), **lists}))

    monkeypatch.setattr(sys.modules["penstock.pack"], "open_source", with_lists)
    penstock.pack(source, tmp_path / "p.pen", seed=None)
    dataset = penstock.open(tmp_path / "p.pen")
    assert dataset.label_names == ("label", "tags", "boxes")
    assert (dataset.labels("tags").to_pylist(), dataset.labels("boxes").to_pylist()) == (tags, boxes)
    assert dataset[2].labels == {"label": 0, "tags": ["c"], "boxes": boxes[2]}
    assert penstock.verify(tmp_path / "p.pen").damages == ()
    with penstock.Loader(dataset, batch_size=3, shuffle=False) as loader:
        batches = list(loader)
    assert [row for batch in batches for row in batch["tags"]] == tags
    assert [row for batch in batches for row in batch["boxes"]] == boxes


BAD = {
    "a/html.jpg": b"<html>",
    "a/empty.jpg": b"",
    "a/cut.jpg": folders.jpeg(1)[:-300],
    "a/cut.png": folders.png(1)[:-300],
    "a/notes.txt": b"hello",
    "a/.hidden.jpg": folders.jpeg(2),
    "beside.jpg": folders.jpeg(3),
}


def test_what_cannot_be_packed_is_listed_with_the_reason(tmp_path):
    source = folders.write(tmp_path / "photos", {"a/good.jpg": folders.jpeg(), **BAD})
    os.symlink("nowhere", source / "a" / "dangling.jpg")
    os.symlink("..", source / "a" / "loop")
    report = penstock.pack(source, tmp_path / "p.pen", on_error="skip")
    assert {item.name: item.outcome for item in report.skipped} == {
        "a/html.jpg": "not an image",
        "a/empty.jpg": "not an image",
        "a/cut.jpg": "broken",
        "a/cut.png": "broken",
        "a/notes.txt": "not an image",
        "a/.hidden.jpg": "not an image",
        "beside.jpg": "unlabelled",
        "a/dangling.jpg": "unreadable",
        "a/loop": "unreadable",
    }
    assert all(item.why for item in report.skipped)
    assert report.outcomes == {"tiled": 1, "broken": 2, "not an image": 4, "unlabelled": 1, "unreadable": 2}
    assert penstock.open(tmp_path / "p.pen").skipped == report.skipped  # the dataset itself tells


@pytest.mark.parametrize("name", ["a/html.jpg", "a/empty.jpg", "a/cut.jpg", "a/cut.png", "beside.jpg"])
def test_a_bad_file_stops_the_run_unless_told_otherwise(tmp_path, name):
    source = folders.write(tmp_path / "photos", {"a/good.jpg": folders.jpeg(), name: BAD[name]})
    with pytest.raises(SourceError, match=name) as caught:
        penstock.pack(source, tmp_path / "p.pen")
    assert "--on-error skip" in caught.value.hint
    with pytest.raises(UsageError):
        penstock.open(tmp_path / "p.pen")


def test_a_file_that_was_never_meant_to_be_a_sample_stops_nothing(tmp_path):
    source = folders.write(tmp_path / "photos", {"a/1.jpg": folders.jpeg(), "a/notes.txt": b"", "README": b""})
    report = penstock.pack(source, tmp_path / "p.pen")
    assert [item.name for item in report.skipped] == ["README", "a/notes.txt"]


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    source = folders.classes(tmp_path / "photos")
    read_file = penstock.ingest.items.read_file

    def refusing(path):
        if path.endswith("005.JPEG"):
            raise PermissionError(13, "Permission denied", path)
        return read_file(path)

    monkeypatch.setattr("penstock.ingest.items.read_file", refusing)
    with pytest.raises(SourceError, match=r"Permission denied.*c1/005.JPEG"):
        penstock.pack(source, tmp_path / "p.pen")
    report = penstock.pack(source, tmp_path / "p.pen", on_error="skip")
    assert [str(item) for item in report.skipped] == ["c1/005.JPEG: unreadable: Permission denied"]


def test_an_empty_class_keeps_its_number(tmp_path):
    source = folders.write(tmp_path / "photos", {"a/1.jpg": folders.jpeg(), "c/2.jpg": folders.jpeg(1)})
    (source / "b").mkdir()
    penstock.pack(source, tmp_path / "p.pen", seed=None)
    dataset = penstock.open(tmp_path / "p.pen")
    assert dataset.classes == ("a", "b", "c")
    assert dataset.labels("label").tolist() == [0, 2]


def test_a_source_without_images_is_refused(tmp_path):
    source = folders.write(tmp_path / "photos", {"a/notes.txt": b""})
    with pytest.raises(UsageError, match=r"no images here.*notes\.txt"):
        penstock.pack(source, tmp_path / "p.pen")
    assert not (tmp_path / "p.pen").exists()


def test_a_source_of_nothing_but_bad_files_is_refused(tmp_path):
    source = folders.write(tmp_path / "photos", {"a/1.jpg": b"no"})
    with pytest.raises(SourceError, match="nothing could be packed"):
        penstock.pack(source, tmp_path / "p.pen", on_error="skip")


def test_a_dataset_is_replaced_only_by_force(tmp_path):
    source = folders.classes(tmp_path / "photos")
    penstock.pack(source, tmp_path / "p.pen", shard_bytes=12_000)
    before = folders.content(tmp_path / "p.pen")
    with pytest.raises(UsageError, match=r"there is a dataset already(.|\n)*--force"):
        penstock.pack(source, tmp_path / "p.pen", seed=9)
    assert folders.content(tmp_path / "p.pen") == before
    penstock.pack(source, tmp_path / "p.pen", seed=9, force=True)
    penstock.pack(source, tmp_path / "q.pen", seed=9)
    assert folders.content(tmp_path / "p.pen") == folders.content(tmp_path / "q.pen")


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_of_something_else_is_never_touched(tmp_path, force):
    source = folders.classes(tmp_path / "photos")
    folders.write(tmp_path / "home", {"diary.txt": b"dear"})
    (tmp_path / "file").write_bytes(b"x")
    for place in ("home", "file"):
        with pytest.raises(UsageError, match="neither a dataset nor empty"):
            penstock.pack(source, tmp_path / place, force=force)
    assert folders.content(tmp_path / "home") == {"diary.txt": b"dear"}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("names", [("packing/mine.jpg",), ("packing/lock", "packing/mine.jpg"), ("packing/plan/mine",)])
def test_a_folder_that_is_called_like_ours_but_holds_other_files_is_never_touched(tmp_path, names, force):
    source = folders.classes(tmp_path / "photos")
    mine = dict.fromkeys(names, b"mine")
    folders.write(tmp_path / "home", mine)
    with pytest.raises(UsageError, match="neither a dataset nor empty"):
        penstock.pack(source, tmp_path / "home", force=force)
    assert folders.content(tmp_path / "home") == mine
    penstock.pack(source, tmp_path / "p.pen")
    whole = folders.content(folders.write(tmp_path / "p.pen", mine))
    with pytest.raises(UsageError, match="in the way" if force else "there is a dataset already"):
        penstock.pack(source, tmp_path / "p.pen", force=force)
    assert folders.content(tmp_path / "p.pen") == whole


def test_an_empty_folder_of_that_name_beside_other_files_is_nobodys_unfinished_dataset(tmp_path):
    source = folders.classes(tmp_path / "photos")
    folders.write(tmp_path / "home", {"diary.txt": b"dear"})
    (tmp_path / "home" / "packing").mkdir()
    with pytest.raises(UsageError, match="neither a dataset nor empty"):
        penstock.pack(source, tmp_path / "home", force=True)


def test_a_dataset_cannot_lie_inside_its_source(tmp_path):
    source = folders.classes(tmp_path / "photos")
    for place in (source, source / "c0", source / "p.pen"):
        with pytest.raises(UsageError, match="inside its source"):
            penstock.pack(source, place, force=True)


def test_an_unfinished_pack_with_other_settings_is_in_the_way(tmp_path):
    source = folders.classes(tmp_path / "photos")
    with pytest.raises(KeyboardInterrupt):
        penstock.pack(source, tmp_path / "p.pen", shard_bytes=9000, progress=_interrupting(at=9))
    with pytest.raises(UsageError, match="not finished"):
        penstock.open(tmp_path / "p.pen")
    with pytest.raises(UsageError, match=r"other settings(.|\n)*--force"):
        penstock.pack(source, tmp_path / "p.pen", shard_bytes=9000, seed=1)
    folders.write(source, {"c0/new.jpg": folders.jpeg(99)})
    with pytest.raises(UsageError, match="another source"):
        penstock.pack(source, tmp_path / "p.pen", shard_bytes=9000)
    penstock.pack(source, tmp_path / "p.pen", shard_bytes=9000, seed=1, force=True)
    assert len(penstock.open(tmp_path / "p.pen")) == 13


def _interrupting(at):
    def progress(state):
        if state.items == at:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_pack_goes_on_where_it_stopped(tmp_path):
    source = folders.classes(tmp_path / "photos")
    penstock.pack(source, tmp_path / "whole.pen", shard_bytes=9000)
    with pytest.raises(KeyboardInterrupt):
        penstock.pack(source, tmp_path / "p.pen", shard_bytes=9000, progress=_interrupting(at=9))
    seen = []
    report = penstock.pack(source, tmp_path / "p.pen", shard_bytes=9000, progress=seen.append)
    assert report.resumed_items == seen[0].resumed_items > 3
    assert seen[0].items == report.resumed_items + 1
    assert folders.content(tmp_path / "p.pen") == folders.content(tmp_path / "whole.pen")


def test_a_pack_begun_by_force_goes_on_by_force(tmp_path):
    source = folders.classes(tmp_path / "photos")
    penstock.pack(source, tmp_path / "whole.pen", shard_bytes=9000)
    penstock.pack(source, tmp_path / "p.pen", seed=9)
    options = {"shard_bytes": 9000, "force": True}
    with pytest.raises(KeyboardInterrupt):
        penstock.pack(source, tmp_path / "p.pen", progress=_interrupting(at=9), **options)
    assert penstock.pack(source, tmp_path / "p.pen", **options).resumed_items > 3
    assert folders.content(tmp_path / "p.pen") == folders.content(tmp_path / "whole.pen")
    assert penstock.pack(source, tmp_path / "p.pen", **options).resumed_items == 0  # a whole one is replaced


def test_what_was_skipped_before_an_interruption_is_still_reported(tmp_path):
    source = folders.classes(tmp_path / "photos")
    folders.write(source, {f"c0/bad{i}.jpg": b"no" for i in range(6)})
    options = {"shard_bytes": 9000, "on_error": "skip"}
    penstock.pack(source, tmp_path / "whole.pen", **options)
    with pytest.raises(KeyboardInterrupt):
        penstock.pack(source, tmp_path / "p.pen", progress=_interrupting(at=15), **options)
    with pytest.raises(SourceError, match="bad"):  # an earlier run may have skipped what this one must not
        penstock.pack(source, tmp_path / "p.pen", shard_bytes=9000)
    report = penstock.pack(source, tmp_path / "p.pen", **options)
    assert len(report.skipped) == 6
    assert folders.content(tmp_path / "p.pen") == folders.content(tmp_path / "whole.pen")


def test_a_full_disk_is_an_error_after_which_packing_goes_on(tmp_path):
    source = folders.write(tmp_path / "photos", {f"a/{i}.jpg": folders.jpeg(i) for i in range(8)})
    folders.write(source, {"a/big.jpg": folders.jpeg(50, 400, 300)})
    penstock.pack(source, tmp_path / "whole.pen", shard_bytes=9000)
    with largest_file(20_000), pytest.raises(StorageError, match="File too large") as caught:
        penstock.pack(source, tmp_path / "p.pen", shard_bytes=9000)
    assert "run the same command again" in caught.value.hint
    with pytest.raises(UsageError, match="not finished"):
        penstock.open(tmp_path / "p.pen")
    penstock.pack(source, tmp_path / "p.pen", shard_bytes=9000)
    assert folders.content(tmp_path / "p.pen") == folders.content(tmp_path / "whole.pen")


def test_two_packs_into_one_folder_do_not_mix(tmp_path):
    source = folders.classes(tmp_path / "photos")

    def second(_):
        with pytest.raises(UsageError, match="another process is packing"):
            penstock.pack(source, tmp_path / "p.pen")

    penstock.pack(source, tmp_path / "p.pen", progress=second)


def test_wrong_options_are_refused_at_once(tmp_path):
    wrong = [
        {"on_error": "ignore"},
        {"shard_bytes": 0},
        {"workers": 0},
        {"quality": 101},
        {"max_side": 0},
        {"seed": -1},
        {"raw": True, "quality": 5},
        {"keep_bytes": True, "raw": True},
    ]
    source = folders.classes(tmp_path / "photos", 1)
    for options in wrong:
        with pytest.raises(UsageError):
            penstock.pack(source, tmp_path / "p.pen", **options)
    assert not (tmp_path / "p.pen").exists()


def test_the_manifest_says_what_was_done(tmp_path):
    source = folders.classes(tmp_path / "photos")
    penstock.pack(source, tmp_path / "p.pen", seed=5)
    manifest = json.loads((tmp_path / "p.pen" / "penstock.json").read_bytes())
    assert manifest["pack"] == {
        "seed": 5,
        "shard_bytes": 256 * 1024 * 1024,
        "keep_bytes": False,
        "max_side": None,
        "short_side": None,
        "quality": None,
        "raw": False,
    }
    assert manifest["provenance"]["outcomes"] == {"tiled": 12}
    assert str(tmp_path) not in (tmp_path / "p.pen" / "penstock.json").read_text("utf-8")
