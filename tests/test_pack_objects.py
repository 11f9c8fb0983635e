"""Packing into an object store: the same bytes as on a disk, the same refusals, and nothing about whoever packs."""

import hashlib
import json
import os
import pickle
import subprocess
import sys

import pytest
from click.testing import CliRunner

import penstock
from penstock.cli import main
from penstock.errors import StorageError, UsageError
from penstock.storage.journal import Journal
from penstock.storage.object import PART_BYTES, ObjectStore
from penstock.storage.object_place import ObjectPlace
from penstock.storage.store import read_large
from tests import folders, objects


class Destination:
    """A URL of a server, and what it takes to pack there."""

    def __init__(self, server, folder, prefix):
        self.bucket = objects.Bucket.of(server, prefix)
        self.url, self.access = self.bucket.url, objects.access(server, folder)
        self.content, self.names, self.write = self.bucket.content, self.bucket.names, self.bucket.write

    def pack(self, source, **options):
        return penstock.pack(source, self.url, access=self.access, **{"shard_bytes": 9000, **options})

    def open(self):
        return penstock.open(self.url, access=self.access)


@pytest.fixture
def place(seaweedfs, tmp_path, request):
    return Destination(seaweedfs, tmp_path, f"packs/{request.node.name} ü/p.pen".replace("[", "-").replace("]", ""))


def local(source, folder, **options):
    penstock.pack(source, folder, **{"shard_bytes": 9000, **options})
    return folders.content(folder)


def stopping(at):
    def progress(state):
        if state.items == at:
            raise KeyboardInterrupt

    return progress


def test_the_objects_have_the_bytes_of_a_local_pack(place, tmp_path):
    source = folders.classes(tmp_path / "photos")
    report = place.pack(source)
    wanted = local(source, tmp_path / "p.pen")
    assert place.content() == wanted
    assert report.shards == len(wanted) - 2 > 2
    assert report.stored_bytes == sum(len(data) for data in wanted.values())
    assert report.path == place.url
    assert [sample.key for sample in place.open()] == [sample.key for sample in penstock.open(tmp_path / "p.pen")]


def test_an_interrupted_pack_goes_on_where_it_stopped(place, tmp_path):
    source = folders.classes(tmp_path / "photos")
    with pytest.raises(KeyboardInterrupt):
        place.pack(source, progress=stopping(at=9))
    with pytest.raises(UsageError, match="not finished"):
        place.open()
    assert place.pack(source).resumed_items > 3
    assert place.content() == local(source, tmp_path / "p.pen")


def test_a_shard_that_went_missing_meanwhile_is_made_again(place, tmp_path):
    source = folders.classes(tmp_path / "photos")
    with pytest.raises(KeyboardInterrupt):
        place.pack(source, progress=stopping(at=9))
    place.bucket.remove("shards/000000.tar")
    assert place.pack(source).resumed_items == 0
    assert place.content() == local(source, tmp_path / "p.pen")


def test_a_dataset_is_replaced_only_by_force(place, tmp_path):
    source = folders.classes(tmp_path / "photos")
    place.pack(source, shard_bytes=1)
    before = place.content()
    with pytest.raises(UsageError, match=r"there is a dataset already(.|\n)*--force"):
        place.pack(source)
    assert place.content() == before
    place.write("notes.txt", b"mine")
    place.pack(source, force=True)
    assert place.content() == {**local(source, tmp_path / "p.pen"), "notes.txt": b"mine"}


def test_an_unfinished_pack_with_other_settings_is_in_the_way(place, tmp_path):
    source = folders.classes(tmp_path / "photos")
    with pytest.raises(KeyboardInterrupt):
        place.pack(source, progress=stopping(at=9))
    with pytest.raises(UsageError, match=r"other settings(.|\n)*--force"):
        place.pack(source, seed=1)
    place.pack(source, seed=1, force=True)
    assert place.content() == local(source, tmp_path / "p.pen", seed=1)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", ["diary.txt", "packing/mine.jpg", "packing/plan/mine", ""])
def test_what_no_pack_wrote_is_never_touched(place, tmp_path, name, force):
    source = folders.classes(tmp_path / "photos", 1)
    place.write(name, b"mine")
    with pytest.raises(UsageError, match="neither a dataset nor empty"):
        place.pack(source, force=force)
    assert place.content() == ({name: b"mine"} if name else {})


def test_a_foreign_object_in_the_journal_of_a_dataset_is_in_the_way(place, tmp_path):
    source = folders.classes(tmp_path / "photos", 1)
    place.pack(source)
    place.write("packing/mine.jpg", b"mine")
    before = place.content()
    with pytest.raises(UsageError, match="in the way"):
        place.pack(source, force=True)
    assert place.content() == before


def test_of_two_packs_with_different_plans_the_one_that_lost_its_plan_stops(place, tmp_path):
    source = folders.classes(tmp_path / "photos", 24)

    def other(state):
        if state.items == 6:
            place.pack(source, seed=7, force=True)

    with pytest.raises(UsageError, match="another process has begun"):
        place.pack(source, progress=other)
    assert place.content() == local(source, tmp_path / "p.pen", seed=7)


def test_two_packs_with_the_same_plan_do_no_harm(place, tmp_path):
    source = folders.classes(tmp_path / "photos", 24)

    def same(state):
        if state.items == 6:
            place.pack(source)

    with pytest.raises(UsageError, match="or has finished"):
        place.pack(source, progress=same)
    wanted = local(source, tmp_path / "p.pen")
    assert place.content() == wanted
    with pytest.raises(UsageError, match="there is a dataset already"):
        place.pack(source)


def test_of_two_plans_written_at_the_same_moment_one_is_refused(place):
    with Journal(ObjectPlace(ObjectStore(place.url, place.access))) as journal:
        journal._place.store.create("packing/plan", b"theirs")
        journal._place.store.create("packing/plan", b"ours")
        assert place.bucket.read("packing/plan") == b"theirs"
        journal._place.remove = lambda names: None  # theirs came right after we had looked
        with pytest.raises(UsageError, match="another process has begun"):
            journal.begin(b"ours")


def test_a_shard_that_vanishes_before_the_end_keeps_the_manifest_from_being_written(place, tmp_path):
    source = folders.classes(tmp_path / "photos", 12)

    def vanish(state):
        if state.items == 12:
            place.bucket.remove("shards/000000.tar")

    with pytest.raises(StorageError, match="not there any more"):
        place.pack(source, progress=vanish)
    assert "penstock.json" not in place.names()
    place.pack(source)
    assert place.content() == local(source, tmp_path / "p.pen")


def test_what_is_large_is_sent_in_parts_and_comes_whole(place):
    store, data = ObjectStore(place.url, place.access), os.urandom(3 * PART_BYTES - 7)
    growing = ObjectPlace(store).grow("grown", "unused")
    growing.append(data[:100])
    growing.append(data[100:])
    assert (growing.bytes, growing.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert place.names() == []
    growing.finish()
    store.write("written", data)
    assert place.content() == {"grown": data, "written": data}
    assert read_large(store, "grown") == data


def test_a_full_temporary_folder_is_an_error_that_says_what_to_do(place, tmp_path, monkeypatch):
    source = folders.classes(tmp_path / "photos", 2)
    (tmp_path / "file").touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(StorageError, match="TMPDIR"):
        place.pack(source)


def test_damage_is_found_and_named(place, tmp_path):
    source = folders.classes(tmp_path / "photos")
    place.pack(source)
    seen = []
    report = penstock.verify(place.url, access=place.access, progress=lambda done, total: seen.append((done, total)))
    assert (report.damages, report.samples, seen[-1]) == ((), 12, (report.shards, report.shards))
    column, keys = place.open().column("image"), place.open().index.column("key").to_pylist()
    name = f"shards/{column.file[5]:06d}.tar"
    data = bytearray(place.bucket.read(name))
    data[int(column.offset[5]) + 99] ^= 1
    place.write(name, bytes(data))
    place.write("shards/000099.tar", b"")
    report = penstock.verify(place.url, access=place.access)
    assert report.damaged_samples == (keys[5],)
    assert {damage.file for damage in report.damages} == {name, "shards/000099.tar"}
    place.bucket.remove(name)
    inside = {key for key, file in zip(keys, column.file, strict=True) if file == column.file[5]}
    assert set(penstock.verify(place.url, access=place.access).damaged_samples) == inside


def test_export_gives_the_files_back(place, tmp_path, monkeypatch):
    source = folders.classes(tmp_path / "photos")
    place.pack(source, keep_bytes=True)
    monkeypatch.setattr(sys.modules["penstock.export.samples"], "READ_BYTES", 9000)
    report = penstock.export(place.url, tmp_path / "back", access=place.access)
    assert folders.content(tmp_path / "back") == folders.content(source)
    assert report.files == 12


def test_the_command_takes_urls_and_says_how_to_get_at_them(place, tmp_path):
    source = folders.classes(tmp_path / "photos")
    config = ["--config", place.access.config]

    def run(*words, code=0):
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exit_code == code, result.output
        return result

    assert "12 samples in" in run("pack", source, place.url, *config).stdout
    assert json.loads(run("info", place.url, *config, "--json").stdout)["samples"] == 12
    assert "sound" in run("verify", place.url, *config, "--region", "us-east-1").stdout
    assert "12 files" in run("export", place.url, tmp_path / "back", *config).stdout
    assert "there is a dataset already" in run("pack", source, place.url, *config, code=2).stderr
    local(source, tmp_path / "p.pen")
    for words in (["pack", source, tmp_path / "q.pen"], ["info", tmp_path / "p.pen"], ["verify", tmp_path / "p.pen"]):
        assert "access is about object stores" in run(*words, "--anonymous", code=2).stderr


def test_a_plain_web_server_cannot_be_written_into(tmp_path):
    source = folders.classes(tmp_path / "photos", 1)
    with pytest.raises(UsageError, match="cannot be written into"):
        penstock.pack(source, "http://127.0.0.1:1/p.pen")


def test_a_url_lies_in_no_folder_whatever_the_folder_that_one_is_in(place, tmp_path, monkeypatch):
    source = folders.classes(tmp_path / "photos", 1)
    monkeypatch.chdir(source)
    assert penstock.pack(".", place.url, access=place.access).samples == 1


def test_wrong_credentials_are_an_error_that_says_what_to_do_and_no_secret(place, seaweedfs, tmp_path):
    source = folders.classes(tmp_path / "photos", 1)
    wrong = objects.access(seaweedfs, tmp_path, secret="wrong-but-secret")
    for ask in (
        lambda: penstock.pack(source, place.url, access=wrong),
        lambda: penstock.open(place.url, access=wrong),
        lambda: penstock.verify(place.url, access=wrong),
    ):
        with pytest.raises(StorageError, match="does not allow it") as caught:
            ask()
        assert "check the credentials" in caught.value.hint
        assert "wrong-but-secret" not in str(caught.value) + repr(caught.value) + repr(caught.value.__context__)
    assert place.names() == []


def test_no_secret_is_stored_or_said_anywhere(place, seaweedfs, tmp_path):
    source = folders.classes(tmp_path / "photos")
    folders.write(source, {"c0/bad.jpg": b"no"})
    secrets = {"AWS_ACCESS_KEY_ID": seaweedfs.access_key, "AWS_SECRET_ACCESS_KEY": seaweedfs.secret}
    code = "from penstock.cli import main; main()"
    command = [sys.executable, "-c", code, "pack", source, place.url, "--endpoint", seaweedfs.endpoint]
    said = []
    for more, ends in ((["--shard-size", "9000B"], 1), (["--on-error", "skip", "--json"], 2), ([], 2)):
        done = subprocess.run(
            [str(word) for word in [*command, *more]], env={**os.environ, **secrets}, capture_output=True, check=False
        )
        assert done.returncode == ends
        said += [done.stdout, done.stderr]
    with pytest.raises(KeyboardInterrupt):
        place.pack(source, on_error="skip", force=True, progress=stopping(at=9))
    journal = place.content()
    assert "packing/000000" in journal
    place.pack(source, on_error="skip")
    dataset = place.open()
    loader = penstock.Loader(dataset, batch_size=4)
    said += [*journal.values(), *place.content().values(), pickle.dumps(dataset), pickle.dumps(place.access)]
    said += [repr(thing).encode() for thing in (dataset, place.access, loader, dataset.packed, dataset.packed.store)]
    loader.close()
    assert not [text for text in said if seaweedfs.secret.encode() in text]


def test_a_dataset_is_extended_to_the_same_objects_as_on_a_disk(place, tmp_path):
    source, more = (
        folders.classes(tmp_path / "photos"),
        folders.write(tmp_path / "more", {"c9/x.jpg": folders.jpeg(77)}),
    )
    place.pack(source)
    opened = place.open()
    report = place.pack(more, extend=True)
    assert (report.samples, report.added) == (13, 1)
    local(source, tmp_path / "p.pen")
    assert place.content() == local(more, tmp_path / "p.pen", extend=True)
    assert [sample.key for sample in opened] == [sample.key for sample in place.open()][:12]
    assert penstock.verify(place.url, access=place.access).is_sound
    place.pack(folders.write(tmp_path / "again", {"c9/y.jpg": folders.jpeg(78)}), extend=True)
    assert {"index.parquet", "index-1.parquet", "index-2.parquet"} & place.content().keys() == {
        "index-1.parquet",
        "index-2.parquet",
    }
