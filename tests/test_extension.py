"""Extending a dataset: what is added, what stays, what is refused, and that a kill leaves the old or the new one."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import penstock
from penstock.cli import main
from penstock.errors import FormatError, SourceError, UsageError
from penstock.extension import index_before, index_behind
from tests import clips, folders, images


@pytest.fixture
def dataset(tmp_path):
    """Nine images of the classes c0, c1, c2 in several shards."""
    penstock.pack(folders.classes(tmp_path / "photos", 9), tmp_path / "p.pen", shard_bytes=9000)
    return tmp_path / "p.pen"


def more(root, names=("c1/a", "b0/b", "c0/c", "d9/d", "d9/e")):
    return folders.write(root, {f"{name}.jpg": folders.jpeg(100 + i) for i, name in enumerate(names)})


def manifest(dataset):
    return json.loads((dataset / "penstock.json").read_bytes())


def test_new_samples_lie_behind_those_that_are_there(dataset, tmp_path):
    before, old = folders.content(dataset), penstock.open(dataset)
    keys = [sample.key for sample in old]
    source = more(tmp_path / "more")
    report = penstock.pack(source, dataset, shard_bytes=9000, extend=True)
    assert (report.samples, report.added, report.outcomes) == (14, 5, {"tiled": 14})
    after = folders.content(dataset)
    assert {name for name in before if after[name] != before[name]} == {"penstock.json"}
    assert set(after) - set(before) == {"index-1.parquet", "shards/000003.tar", "shards/000004.tar"}
    new = penstock.open(dataset)
    assert [sample.key for sample in new][:9] == keys == [sample.key for sample in old]
    for sample in (new[i] for i in range(9, 14)):
        assert np.array_equal(sample.image(), images.rgb((source / f"{sample.key}.jpg").read_bytes()))
    assert penstock.verify(dataset).is_sound


def test_numbers_of_classes_keep_their_meaning_and_new_names_come_behind(dataset, tmp_path):
    penstock.pack(more(tmp_path / "more"), dataset, extend=True)
    extended = penstock.open(dataset)
    assert extended.classes == ("c0", "c1", "c2", "b0", "d9")
    for sample in extended:
        assert extended.classes[sample.labels["label"]] == sample.key.partition("/")[0]


def test_the_manifest_counts_both_and_says_how_it_was_extended(dataset, tmp_path):
    old = manifest(dataset)
    broken = folders.write(more(tmp_path / "more"), {"c0/broken.jpg": folders.jpeg(9)[:200]})
    penstock.pack(broken, dataset, shard_bytes=9000, seed=3, extend=True, on_error="skip")
    new = manifest(dataset)
    assert new["shards"][: len(old["shards"])] == old["shards"]
    assert new["samples"] == sum(shard["samples"] for shard in new["shards"]) == 14
    rows = pq.read_table(dataset / new["index"]["file"])
    assert new["fields"] == {"image": {"formats": {"jpeg": 14}, "bytes": sum(rows.column("image.length").to_pylist())}}
    assert new["pack"] == old["pack"]
    (extension,) = new["provenance"]["extensions"]
    assert (extension["samples"], extension["seed"], extension["source"]["kind"]) == (5, 3, "image-folder")
    assert new["provenance"]["outcomes"] == {"broken": 1, "tiled": 14}
    assert [item["name"] for item in new["provenance"]["skipped"]] == ["c0/broken.jpg"]


def test_a_source_that_has_grown_adds_what_is_new(dataset, tmp_path):
    more(tmp_path / "photos", ["c1/new", "c3/new"])
    with pytest.raises(UsageError, match=r"with these keys are there already: got 9 of 11, such as c\d/00\d"):
        penstock.pack(tmp_path / "photos", dataset, extend=True)
    assert sorted(os.listdir(dataset)) == ["index.parquet", "penstock.json", "shards"]
    report = penstock.pack(tmp_path / "photos", dataset, extend=True, remove_duplicates=True)
    assert (report.samples, report.added, report.already_there) == (11, 2, 9)
    before = folders.content(dataset)
    report = penstock.pack(tmp_path / "photos", dataset, extend=True, remove_duplicates=True)
    assert (report.samples, report.added, report.already_there) == (11, 0, 11)
    assert folders.content(dataset) == before


def test_the_same_extension_gives_the_same_bytes_for_any_number_of_workers(tmp_path):
    for workers in (1, 3):
        name = tmp_path / f"{workers}.pen"
        penstock.pack(folders.classes(tmp_path / "photos", 9), name, shard_bytes=9000)
        penstock.pack(more(tmp_path / "more"), name, shard_bytes=5000, extend=True, workers=workers)
    assert folders.content(tmp_path / "1.pen") == folders.content(tmp_path / "3.pen")


def test_the_index_before_stays_until_the_next_extension(dataset, tmp_path):
    for number in (1, 2, 3):
        penstock.pack(more(tmp_path / str(number), [f"c{number}/x"]), dataset, extend=True)
    assert sorted(os.listdir(dataset)) == ["index-2.parquet", "index-3.parquet", "penstock.json", "shards"]
    assert manifest(dataset)["index"]["file"] == "index-3.parquet"
    assert [item["samples"] for item in manifest(dataset)["provenance"]["extensions"]] == [1, 1, 1]
    penstock.pack(tmp_path / "1", dataset, force=True)
    assert sorted(os.listdir(dataset)) == ["index.parquet", "penstock.json", "shards"]


@pytest.mark.parametrize(
    ("name", "behind", "before"),
    [
        ("index.parquet", "index-1.parquet", "index.parquet"),
        ("index-1.parquet", "index-2.parquet", "index.parquet"),
        ("index-9.parquet", "index-10.parquet", "index-8.parquet"),
        ("rows.parquet", "index-1.parquet", "index.parquet"),
    ],
)
def test_indexes_are_numbered(name, behind, before):
    assert (index_behind(name), index_before(name)) == (behind, before)


def test_clips_are_added_to_clips(tmp_path):
    penstock.pack(clips.frame_folders(tmp_path / "a", 4), tmp_path / "c.pen")
    grown = clips.frame_folders(tmp_path / "a", 7)
    report = penstock.pack(grown, tmp_path / "c.pen", extend=True, remove_duplicates=True)
    assert (report.added, report.already_there) == (3, 4)
    assert penstock.verify(tmp_path / "c.pen").is_sound
    frames = penstock.open(tmp_path / "c.pen").column("clip").frames
    assert sorted(np.diff(frames.first).tolist()) == sorted(clips.frame_count(clip) for clip in range(7))


def test_a_reader_of_version_1_needs_nothing_but_the_manifest_to_read_both(dataset, tmp_path):
    penstock.pack(more(tmp_path / "more"), dataset, extend=True)
    said = manifest(dataset)
    assert said["version"] == 1
    rows = pq.read_table(dataset / said["index"]["file"]).select(["file", "image.offset", "image.length"]).to_pylist()
    assert [row["file"] for row in rows] == sorted(row["file"] for row in rows)
    for row in rows:
        data = (dataset / row["file"]).read_bytes()[row["image.offset"] :][: row["image.length"]]
        assert images.rgb(data).shape == (24, 40, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_side": 20}, "the dataset was packed with another max_side: got 20, expected None"),
        ({"keep_bytes": True}, "the dataset was packed with another keep_bytes: got True, expected None"),
        ({"masks": "masks"}, r"the fields differ from the dataset's: got \['image', 'mask'\], expected \['image'\]"),
        ({"labels": "labels.csv"}, "the labels differ from the dataset's: got .*'score': 'double'"),
    ],
)
def test_what_is_not_like_the_dataset_is_refused(dataset, tmp_path, options, message):
    source = more(tmp_path / "more")
    named = ["c1/a", "b0/b", "c0/c", "d9/d", "d9/e"]
    folders.write(tmp_path / "masks", {f"{name}.png": folders.png() for name in named})
    lines = ["file,label,score", *(f"{name}.jpg,x,0.5" for name in named)]
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    before = folders.content(dataset)
    given = {name: tmp_path / value if isinstance(value, str) else value for name, value in options.items()}
    with pytest.raises(UsageError, match=message):
        penstock.pack(source, dataset, extend=True, **given)
    assert folders.content(dataset) == before


def test_a_dataset_without_classes_takes_none(tmp_path):
    (tmp_path / "labels.csv").write_text("file,label\nc0/a.jpg,5\n")
    penstock.pack(more(tmp_path / "a", ["c0/a"]), tmp_path / "p.pen", labels=tmp_path / "labels.csv")
    assert penstock.open(tmp_path / "p.pen").classes is None
    with pytest.raises(UsageError, match="the classes differ from the dataset's: got True, expected False"):
        penstock.pack(more(tmp_path / "b", ["c0/b"]), tmp_path / "p.pen", extend=True)


def test_there_must_be_a_dataset(tmp_path):
    source = more(tmp_path / "more")
    with pytest.raises(UsageError, match="there is no dataset to extend"):
        penstock.pack(source, tmp_path / "none.pen", extend=True)
    assert not (tmp_path / "none.pen").exists()


def test_nothing_is_added_to_a_damaged_index(dataset, tmp_path):
    (dataset / "index.parquet").write_bytes((dataset / "index.parquet").read_bytes()[:-1])
    with pytest.raises(FormatError, match="the index is not the one that the manifest describes"):
        penstock.pack(more(tmp_path / "more"), dataset, extend=True)


def test_a_stray_shard_is_not_written_over(dataset, tmp_path):
    (dataset / "shards" / "000003.tar").write_bytes(b"mine")
    with pytest.raises(UsageError, match="a shard that the manifest does not name is in the way"):
        penstock.pack(more(tmp_path / "more"), dataset, extend=True)
    assert (dataset / "shards" / "000003.tar").read_bytes() == b"mine"
    assert not (dataset / "packing").exists()


def stop_after(items):
    def stop(progress):
        if progress.items == items:
            raise KeyboardInterrupt

    return stop


def test_an_unfinished_extension_is_gone_on_with_or_given_up_for_another(dataset, tmp_path):
    before = manifest(dataset)
    source, other = more(tmp_path / "more"), more(tmp_path / "other", ["c0/z"])
    with pytest.raises(KeyboardInterrupt):
        penstock.pack(source, dataset, shard_bytes=1, extend=True, progress=stop_after(4))
    assert manifest(dataset) == before
    assert penstock.verify(dataset).is_sound
    with pytest.raises(UsageError, match="an unfinished pack of another source or with other settings is in the way"):
        penstock.pack(other, dataset, extend=True)
    with pytest.raises(UsageError, match="an unfinished pack of another source"):
        penstock.pack(source, dataset)
    assert penstock.pack(other, dataset, extend=True, force=True).added == 1
    assert penstock.verify(dataset).is_sound
    with pytest.raises(KeyboardInterrupt):
        penstock.pack(source, dataset, shard_bytes=1, extend=True, progress=stop_after(4))
    report = penstock.pack(source, dataset, shard_bytes=1, extend=True)
    assert (report.added, report.resumed_items >= 2) == (5, True)
    assert penstock.verify(dataset).is_sound


def test_an_extension_that_can_add_nothing_is_an_error(dataset, tmp_path):
    folders.write(tmp_path / "more", {"c0/broken.jpg": folders.jpeg(9)[:200]})
    with pytest.raises(SourceError, match=r"nothing could be packed: got c0/broken\.jpg: broken"):
        penstock.pack(tmp_path / "more", dataset, extend=True, on_error="skip")
    assert penstock.verify(dataset).is_sound


def test_killed_before_any_step_that_touches_the_disk_it_is_the_old_dataset_or_the_new_one(dataset, tmp_path):
    command = [sys.executable, "-m", "tests.killing_extension", more(tmp_path / "more"), dataset, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    killed = [result for line in done.stdout.splitlines() if (result := json.loads(line))["killed"]]
    assert len(killed) > 25
    assert [result for result in killed if not (result["equal"] and result["sound"])] == []
    left = [result["left"] for result in killed]
    assert left == ["old"] * left.count("old") + ["new"] * left.count("new")
    assert set(left) == {"old", "new"}
    assert [result["seen"] for result in killed] == [9] * left.count("old") + [14] * left.count("new")


def test_the_command_says_what_was_added(dataset, tmp_path):
    more(tmp_path / "photos", ["c1/new"])
    options = ["pack", str(tmp_path / "photos"), str(dataset), "--extend", "--remove-duplicates"]
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 0, result.output
    assert "added   1 samples; 9 of the source were there already" in result.output
