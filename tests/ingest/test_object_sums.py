"""Checksums of loose objects: right ones, of every object, and none read twice after an interruption."""

import logging
import os

import numpy as np
import pytest

import penstock
from penstock.errors import ChecksumError, SourceError, StorageError, UsageError
from penstock.ingest import object_sums
from penstock.ingest.object_list import decode_list
from penstock.ingest.object_lister import index_objects
from penstock.ingest.object_sums import Named, Progress, sum_objects
from penstock.storage.local import LocalStore
from penstock.testing.faults import FAULTS, FaultProxy
from tests import folders, stores
from tests.native.test_crc32c import slow_crc32c


@pytest.fixture
def files(tmp_path):
    """Thirty small files, one of them empty."""
    content = {f"{at // 10}/{at:02d}.bin": os.urandom(at * 7) for at in range(30)}
    folders.write(tmp_path / "files", content)
    return content


@pytest.fixture
def store(files, tmp_path):
    return Counting(tmp_path / "files")


@pytest.fixture(autouse=True)
def _few_at_a_time(monkeypatch):
    monkeypatch.setattr(object_sums, "_OBJECTS", 4)


class Counting:
    """A folder that notes what is read, and may break."""

    def __init__(self, folder):
        self.store, self.place, self.read, self.broken = LocalStore(str(folder)), str(folder), [], None

    def begin(self, names, plan, block, **options):
        if self.broken in names:
            raise StorageError("it broke", file=self.broken)
        self.read += names
        return self.store.begin(names, plan, block, **options)


def named(files, stamp="1"):
    return [Named(name, len(data), stamp) for name, data in files.items()]


def test_every_object_is_read_once_and_summed(store, files):
    told = []
    sums = sum_objects(store, named(files), Progress("here"), told.append)
    assert sums.tolist() == [slow_crc32c(data) for data in files.values()]
    assert sorted(store.read) == sorted(files)
    assert told == [0, *range(4, 30, 4), 30]


@pytest.mark.parametrize("most", [1, 100, 1000])
def test_objects_are_read_in_groups_of_bounded_size(monkeypatch, most):
    monkeypatch.setattr(object_sums, "_BYTES", most)
    objects = [Named(str(size), size, None) for size in (40, 20, 40, 30, 70, 5_000, 60)]
    found = list(object_sums._groups(objects, range(7)))
    assert [at for group in found for at in group] == list(range(7))
    assert all(len(one) == 1 or (len(one) <= 4 and sum(objects[at].size for at in one) <= most) for one in found)


def test_what_was_summed_before_an_interruption_is_not_read_again(store, files):
    store.broken = "2/25.bin"
    with pytest.raises(StorageError, match="it broke"):
        sum_objects(store, named(files), Progress("here"), lambda _: None)
    before, store.broken, store.read = set(store.read), None, []
    sums = sum_objects(store, named(files), Progress("here"), lambda _: None)
    assert sums.tolist() == [slow_crc32c(data) for data in files.values()]
    noted = set(files) - set(store.read)
    assert noted
    assert noted <= before
    assert len(store.read) == len(set(store.read))


def test_what_changed_meanwhile_is_read_again_and_so_is_what_has_no_stamp_or_lies_elsewhere(store, files):
    objects = named(files)
    sum_objects(store, objects, Progress("here"), lambda _: None)
    other, unstamped = objects[3]._replace(stamp="2"), objects[5]._replace(stamp=None)
    now = [other if at == 3 else unstamped if at == 5 else one for at, one in enumerate(objects)]
    store.read = []
    sum_objects(store, now, Progress("here"), lambda _: None)
    assert sorted(store.read) == [other.name, unstamped.name]
    assert Progress("there").known(objects) == {}
    Progress("here").finish()
    assert Progress("here").known(objects) == {}


def test_lines_that_a_kill_cut_short_are_none(files):
    objects, progress = named(files), Progress("here")
    with progress:
        progress.note([(objects[0], 17)])
    with open(progress.path, "a", encoding="utf-8") as file:
        file.write('["0/01.bin", 7, "1", 99')
    with progress:
        progress.note([(objects[2], 18)])
    with open(progress.path, "a", encoding="utf-8") as file:
        file.write('\n5\n["0/03.bin", 21]\n["0/03.bin", 21, ["1"], 5]\n["0/03')
    assert progress.known(objects) == {0: 17, 2: 18}


def test_where_progress_cannot_be_kept_that_is_said_and_all_is_summed(store, files, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with caplog.at_level(logging.WARNING, "penstock"):
        sums = sum_objects(store, named(files), Progress("here"), lambda _: None)
    assert sums.tolist() == [slow_crc32c(data) for data in files.values()]
    assert "whoever is interrupted begins anew" in caplog.text


def test_a_file_that_became_shorter_meanwhile_is_an_error(store, files):
    objects = [one._replace(size=one.size + 1) if one.name == "1/12.bin" else one for one in named(files)]
    with pytest.raises(SourceError, match=r"shorter than when it was listed.*1/12\.bin"):
        sum_objects(store, objects, Progress("here"), lambda _: None)


def test_a_list_with_checksums_guards_the_files_of_a_folder(tmp_path):
    source = folders.classes(tmp_path / "photos")
    index_objects(source, tmp_path / "i.parquet", checksums=True)
    sums = decode_list((tmp_path / "i.parquet").read_bytes(), "i.parquet").checksums
    assert sums.tolist() == [slow_crc32c(folders.jpeg(at)) for at in range(12)]
    dataset = penstock.open(tmp_path / "i.parquet")
    assert np.array_equal(dataset.column("image").crc32c, sums)
    data = bytearray(folders.jpeg(5))
    data[len(data) // 2] ^= 1
    (source / "c1/005.JPEG").write_bytes(data)
    again = penstock.open(tmp_path / "i.parquet")
    with pytest.raises(ChecksumError, match=r"checksum differs.*c1/005"):
        again[5]
    options = {"batch_size": 12, "transforms": penstock.transforms.RandomResizedCrop(16), "on_error": "skip"}
    with penstock.Loader(again, **options) as loader:
        (batch,) = loader
        assert sorted(batch.ids.tolist()) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
        (error,) = loader.statistics().errors
        assert "stored bytes do not match the index" in str(error), error


def test_sums_are_those_of_the_objects_also_over_a_line_that_damages_bytes(seaweedfs, monkeypatch, tmp_path):
    stores.allow(monkeypatch, seaweedfs)
    url = stores.put(seaweedfs, folders.classes(tmp_path / "photos"), "sums")
    with FaultProxy(seaweedfs.host, seaweedfs.port, FAULTS["flip"], seed=2) as proxy:
        access = stores.access(f"http://{proxy.host}:{proxy.port}")
        index_objects(url, tmp_path / "i.parquet", checksums=True, access=access)
        assert proxy.counts.faults["flip"] > 0
    sums = decode_list((tmp_path / "i.parquet").read_bytes(), "i.parquet").checksums
    assert sums.tolist() == [slow_crc32c(folders.jpeg(at)) for at in range(12)]


def test_a_json_list_has_no_checksums(tmp_path):
    with pytest.raises(UsageError, match="has no checksums"):
        index_objects(folders.classes(tmp_path / "photos"), tmp_path / "i.json", checksums=True)
