"""Opening and reading: packed or in place, columns, labels, views, blocks of bytes, what is said about damage."""

import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock
from penstock.errors import ChecksumError, FormatError, SourceError, StorageError, UsageError
from penstock.shard.index import encode_index
from tests import folders, images


@pytest.fixture
def source(tmp_path):
    return folders.classes(tmp_path / "photos")


@pytest.fixture
def packed(source, tmp_path):
    penstock.pack(source, tmp_path / "p.pen", shard_bytes=12_000)
    return penstock.open(tmp_path / "p.pen")


@pytest.fixture(params=["packed", "in place"])
def dataset(request, source, tmp_path):
    if request.param == "packed":
        penstock.pack(source, tmp_path / "p.pen", shard_bytes=12_000)
    return penstock.open(tmp_path / "p.pen" if request.param == "packed" else source)


def test_every_sample_is_the_file_it_came_from(dataset, source):
    assert len(dataset) == 12
    keys = []
    for number, sample in enumerate(dataset):
        keys.append(sample.key)
        assert sample.id == number
        assert np.array_equal(sample.image(), images.rgb((source / f"{sample.key}.JPEG").read_bytes()))
        assert sample.labels == {"label": int(sample.key[1])}
        assert (sample.fields["image"].width, sample.fields["image"].height) == (40, 24)
    assert len(set(keys)) == 12
    assert dataset[-1].key == keys[-1]
    for number in (12, -13):
        with pytest.raises(IndexError):
            dataset[number]
    assert dataset[np.int32(3)].key == keys[3]
    for number in (1.5, slice(2), "3", None):
        with pytest.raises(UsageError, match=r"number; for several, there is select\(\): got .* whole number"):
            dataset[number]


def test_columns_say_where_the_bytes_are(dataset):
    column = dataset.column("image")
    assert (len(column), column.formats) == (12, ("jpeg",))
    assert set(column.width.tolist()) == {40}
    assert dataset.index.num_rows == 12
    assert dataset.index.column("image.length").to_pylist() == column.length.tolist()
    with pytest.raises(UsageError, match=r"no such field.*'sound'"):
        dataset.column("sound")


def test_many_samples_are_read_into_one_block(dataset):
    ids = np.array([7, 0, 7, 11, 3])
    block = dataset.read(ids, "image")
    for position, number in enumerate(ids.tolist()):
        stored = block.data[block.offsets[position] :][: block.lengths[position]].tobytes()
        assert stored == dataset[number].fields["image"].data
    again = dataset.read(ids[:2], "image", block.data)
    assert again.data is block.data  # large enough, so reused
    assert len(dataset.read([], "image").offsets) == 0


@pytest.mark.parametrize("ids", [[12], [-1], [[0]], [0.5]])
def test_what_is_no_sample_number_is_refused(dataset, ids):
    with pytest.raises(UsageError):
        dataset.read(np.array(ids), "image")


def test_a_view_has_the_chosen_samples_in_the_chosen_order(dataset):
    labels = dataset.labels("label")
    views = [
        dataset.select(labels == 1),
        dataset.select(np.flatnonzero(labels == 1)),
        dataset.select(pc.field("label") == 1),
        dataset.select(pc.field("label") >= 1).select(pc.field("label") < 2),
    ]
    keys = [[sample.key for sample in view] for view in views]
    assert keys[0] == keys[1] == keys[2] == keys[3]
    assert [key[:2] for key in keys[0]] == ["c1"] * 4
    assert len({view.digest for view in views}) == 1
    assert views[0].digest != dataset.digest
    assert views[0].labels("label").tolist() == [1] * 4
    backwards = dataset.select([5, 2])
    assert [sample.key for sample in backwards] == [dataset[5].key, dataset[2].key]
    assert len(dataset.select([])) == 0
    with pytest.raises(UsageError, match="a mask has one value per sample"):
        dataset.select(np.ones(3, bool))


@pytest.mark.parametrize("condition", [pc.field("lable") == 1, pc.field("label") == "one", pc.field("label") + 1])
def test_a_filter_that_cannot_be_applied_is_refused_with_the_columns_there_are(dataset, condition):
    with pytest.raises(UsageError, match=r"the filter cannot be applied: got .*expected .*'label'"):
        dataset.select(condition)


def test_a_label_may_have_any_name_when_samples_are_chosen_by_it(tmp_path):
    source = folders.write(tmp_path / "photos", {f"{number}.jpg": folders.jpeg(number) for number in range(3)})
    (tmp_path / "labels.csv").write_text("file,#\n0.jpg,4\n1.jpg,5\n2.jpg,4\n")
    dataset = penstock.open(source, labels=tmp_path / "labels.csv")
    assert [sample.key for sample in dataset.select(pc.field("#") == 4)] == ["0", "2"]


def test_a_dataset_travels_to_another_process_by_its_path(dataset):
    view = dataset.select([3, 1])
    again = pickle.loads(pickle.dumps(view))
    assert again.digest == view.digest
    assert [sample.fields for sample in again] == [sample.fields for sample in view]
    assert len(pickle.dumps(dataset)) < 2000


def test_no_file_stays_open(dataset):
    before = sorted(os.listdir("/proc/self/fd"))
    dataset[0].image()
    dataset.read(np.arange(12), "image")
    assert len(dataset.index) == 12
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_strings_and_lists_stay_arrow(tmp_path):
    source = folders.write(tmp_path / "photos", {f"{i}.jpg": folders.jpeg(i) for i in range(2)})
    (tmp_path / "l.csv").write_text("name,note,ok\n0,x,true\n1,,false\n")
    penstock.pack(source, tmp_path / "p.pen", labels=tmp_path / "l.csv", seed=None)
    dataset = penstock.open(tmp_path / "p.pen")
    assert dataset.classes is None
    assert isinstance(dataset.labels("note"), pa.ChunkedArray)
    assert dataset.labels("ok").tolist() == [True, False]
    with pytest.raises(UsageError, match="no such label"):
        dataset.labels("label")


def test_a_flipped_bit_is_noticed_when_the_sample_is_read(packed, tmp_path):
    column = packed.column("image")
    shard = tmp_path / "p.pen" / "shards" / "000000.tar"
    data = bytearray(shard.read_bytes())
    data[int(column.offset[1]) + 50] ^= 4
    shard.write_bytes(data)
    with pytest.raises(ChecksumError, match=packed[0].key.split("/")[0][0]) as caught:
        packed[1]
    assert caught.value.file == "shards/000000.tar"
    assert caught.value.byte_range == (int(column.offset[1]), int(column.offset[1] + column.length[1]))
    assert packed[0].image().shape == (24, 40, 3)


def test_a_shard_that_is_cut_short_fails_only_the_samples_behind_the_cut(packed, tmp_path):
    column = packed.column("image")
    inside = np.flatnonzero(column.file == 0)
    shard = tmp_path / "p.pen" / "shards" / "000000.tar"
    os.truncate(shard, int(column.offset[inside[-1]]) + 10)
    reading = packed.plan_reading(np.arange(12), ("image",))
    block = np.zeros(reading.reads.block_bytes, np.uint8)
    errors = packed.begin(reading, block).errors()
    assert list(errors) == [inside[-1]]
    assert isinstance(errors[inside[-1]], FormatError)
    start = reading.starts[0, 0]
    assert block[start : start + reading.lengths[0, 0]].tobytes() == packed[0].fields["image"].data
    with pytest.raises(FormatError, match="penstock verify"):
        packed.read(np.arange(12), "image")


def test_a_missing_shard_is_named(packed, tmp_path):
    (tmp_path / "p.pen" / "shards" / "000000.tar").unlink()
    with pytest.raises(StorageError, match=r"No such file.*000000\.tar") as caught:
        packed[0]
    assert caught.value.errno == 2


def test_another_dataset_under_the_same_path_is_noticed(packed, source, tmp_path):
    stored = pickle.dumps(packed)
    penstock.pack(source, tmp_path / "p.pen", seed=99, force=True)
    with pytest.raises(FormatError, match="replaced"):
        pickle.loads(stored)


def test_an_index_of_another_length_is_refused(packed, source, tmp_path):
    penstock.pack(folders.classes(tmp_path / "few", 3), tmp_path / "few.pen")
    shutil.copy(tmp_path / "few.pen" / "index.parquet", tmp_path / "p.pen" / "index.parquet")
    with pytest.raises(FormatError, match="disagree"):
        penstock.open(tmp_path / "p.pen")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"nonsense" * 100])
def test_an_unreadable_index_is_refused(packed, tmp_path, data):
    (tmp_path / "p.pen" / "index.parquet").write_bytes(data)
    with pytest.raises(FormatError, match="the index cannot be read"):
        penstock.open(tmp_path / "p.pen")


@pytest.mark.parametrize(("part", "value"), [("length", 2**62), ("offset", 2**62), ("length", 1_000_000)])
def test_a_range_that_no_shard_can_hold_is_refused_before_memory_is_asked_for(packed, tmp_path, part, value):
    table = packed.index
    values = table.column(f"image.{part}").to_pylist()
    values[7] = value
    name = f"image.{part}"
    encoded = encode_index(table.set_column(table.column_names.index(name), name, pa.array(values)))
    (tmp_path / "p.pen" / "index.parquet").write_bytes(encoded)
    with pytest.raises(FormatError, match=r"points outside the shards for 1 samples(.|\n)*sample 7"):
        penstock.open(tmp_path / "p.pen").read([0], "image")


def test_what_is_no_dataset_is_refused(tmp_path):
    for place in ("nowhere", "file.txt"):
        (tmp_path / "file.txt").write_text("x")
        with pytest.raises(UsageError, match="there is no dataset here"):
            penstock.open(tmp_path / place)


def test_a_class_may_be_called_packing(tmp_path):
    names = ["others/1.jpg", "packing/2.jpg", "packing/3.jpg"]
    source = folders.write(tmp_path / "photos", {name: folders.jpeg() for name in names})
    assert penstock.open(source).classes == ("others", "packing")
    for name in names[1:]:
        (source / name).unlink()
    assert penstock.open(source).classes == ("others", "packing")  # also an empty one


def test_opening_in_place_writes_nothing_into_the_folder(source, tmp_path):
    before = folders.content(tmp_path)
    penstock.open(source)[0].image()
    assert folders.content(tmp_path) == before


def test_an_unchanged_folder_is_indexed_once(source, monkeypatch):
    penstock.open(source)
    monkeypatch.setattr("penstock.ingest.in_place._probe", None)  # would fail if a header were read again
    assert len(penstock.open(source)) == 12


@pytest.mark.parametrize("change", ["another size", "another time", "another file", "one less"])
def test_a_changed_folder_is_indexed_anew(source, change):
    before = penstock.open(source)
    path = source / "c0" / "000.JPEG"
    if change == "another size":
        path.write_bytes(folders.jpeg(77, 50, 50))
    elif change == "another time":
        os.utime(path, (1, 1))
    elif change == "another file":
        folders.write(source, {"c0/zzz.jpg": folders.jpeg(5)})
    else:
        path.unlink()
    after = penstock.open(source)
    assert after.digest != before.digest
    assert len(after) == len(folders.content(source))


def test_a_damaged_cache_is_made_anew(source, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    penstock.open(source)
    (cached,) = (tmp_path / "cache").rglob("*.parquet")
    cached.write_bytes(b"nonsense")
    assert len(penstock.open(source)) == 12


def test_without_a_cache_folder_opening_works_all_the_same(source, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    dataset = penstock.open(source)
    assert pickle.loads(pickle.dumps(dataset))[0].key == dataset[0].key


def test_in_place_samples_are_in_torchvisions_order(tmp_path):
    names = ["b/2.jpg", "a/z.jpg", "a/s-t/1.jpg", "a/s/2.jpg", "a/s/t/3.jpg", "a/B.jpg", "a/a.JPG"]
    names += ["cat/1.jpg", "cat/long/2.jpg", "cat-big/3.jpg", "cat.old/4.jpg"]
    dataset = penstock.open(folders.write(tmp_path / "photos", {name: folders.jpeg() for name in names}))
    # ImageFolder: classes sorted; within one, folders sorted by their whole path, then files by name.
    found = []
    for target in sorted(entry.name for entry in os.scandir(tmp_path / "photos")):
        for root, _, files in sorted(os.walk(tmp_path / "photos" / target, followlinks=True)):
            found += [os.path.relpath(os.path.join(root, name), tmp_path / "photos") for name in sorted(files)]
    assert dataset.index.column("file").to_pylist() == found
    assert sorted(found) == sorted(names)
    labels = [dataset.classes[label] for label in dataset.labels("label")]
    assert labels == [name.partition("/")[0] for name in found]


def test_a_broken_file_in_place_fails_only_its_own_sample(source):
    folders.write(source, {"c0/000.JPEG": b"no image at all"})
    dataset = penstock.open(source)
    assert (len(dataset), dataset[0].fields["image"].format) == (12, "unknown")
    with pytest.raises(penstock.errors.ImageError, match="sample c0/000"):
        dataset[0].image()
    with pytest.raises(UsageError, match=r"no such field.*'mask'"):
        dataset[1].mask()
    assert dataset[1].image().shape == (24, 40, 3)


def test_a_file_that_shrank_since_it_was_indexed_is_named(source):
    dataset = penstock.open(source)
    os.truncate(source / "c0" / "001.JPEG", 100)
    with pytest.raises(SourceError, match=r"shorter than when it was indexed(.|\n)*open the folder again"):
        dataset.read(np.arange(3), "image")


def test_names_that_are_not_utf8_are_opened(tmp_path):
    name = os.fsdecode(b"caf\xe9/\xff.jpg")
    source = folders.write(tmp_path / "photos", {name: folders.jpeg()})
    for place in (source, tmp_path / "p.pen"):
        if place != source:
            penstock.pack(source, place)
        dataset = penstock.open(place)
        assert dataset.classes == (r"caf\xe9",)
        assert dataset[0].key == "caf%E9/%FF"
        assert dataset[0].image().shape == (24, 40, 3)


def test_importing_penstock_imports_no_torch():
    code = "import sys, penstock; sys.exit(any(name in sys.modules for name in ('torch', 'torchvision', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
