"""Lists of loose objects, packed: from a folder and from a bucket, with classes of every origin; what is not there."""

import json
import os

import pytest

import penstock
from penstock.errors import SourceError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, open_source
from tests import folders
from tests.cli.test_verbs import run
from tests.ingest.conformance import CHECKS, Case, Made, name, opened_in_place_it_is_the_same_as_packed
from tests.loose import Bucket

FILES = {f"{at % 3}/{at}.jpg": folders.jpeg(at) for at in range(9)}
KEYS = sorted(FILES)
LABELS = [int(key[0]) for key in KEYS]


def made(folder):
    """A Parquet list of a folder, which is not the folder that it lies in."""
    folders.write(folder / "photos", FILES)
    penstock.index_objects(str(folder / "photos"), str(folder / "list.parquet"))
    names = [key.removesuffix(".jpg") for key in KEYS]
    pictures = [[FILES[key]] for key in KEYS]
    return Made(str(folder / "list.parquet"), names, pictures, {"label": LABELS}, ("0", "1", "2"))


def change(folder):
    os.utime(folder / "photos" / KEYS[2], (1, 1))


def lose(folder):
    (folder / "photos" / KEYS[3]).unlink()
    return KEYS[3]


CASE = Case("object-list", made, change, lose)


# In place a list is opened by another part of the house, and has tests of its own: tests/test_objects.py.
@pytest.mark.parametrize(
    "check", [check for check in CHECKS if check is not opened_in_place_it_is_the_same_as_packed], ids=name
)
def test_a_list_of_objects(check, tmp_path):
    check(CASE, tmp_path)


def listed(dataset):
    stored = [dataset[at].fields["image"].data for at in range(len(dataset))]
    return [dataset.key(at) for at in range(len(dataset))], stored, dataset.labels("label").tolist()


@pytest.fixture
def bucket(seaweedfs, monkeypatch, request, tmp_path):
    made = Bucket(seaweedfs, request.node.name, monkeypatch)
    made.put(folders.write(tmp_path / "photos", FILES))
    return made


@pytest.mark.parametrize("form", ["list.json", "list.parquet", "summed.parquet"])
def test_what_a_bucket_holds_is_packed_into_a_folder(bucket, tmp_path, form):
    penstock.index_objects(bucket.root, str(tmp_path / form), checksums=form[0] == "s", access=bucket.access)
    root = bucket.root if form.endswith(".json") else None
    options = {"access": bucket.access, "root": root, "keep_bytes": True, "seed": None}
    report = penstock.pack(tmp_path / form, tmp_path / "p.pen", **options)
    assert (report.samples, report.skipped) == (len(KEYS), ())
    dataset = penstock.open(tmp_path / "p.pen")
    assert listed(dataset) == ([key.removesuffix(".jpg") for key in KEYS], [FILES[key] for key in KEYS], LABELS)
    assert dataset.classes == ("0", "1", "2")


def test_a_list_in_a_bucket_is_packed_into_that_bucket(bucket):
    penstock.index_objects(bucket.root, f"{bucket.root}/list.parquet", access=bucket.access)
    penstock.pack(f"{bucket.root}/list.parquet", f"{bucket.root}/p.pen", access=bucket.access)
    assert sorted(penstock.open(f"{bucket.root}/p.pen", access=bucket.access).labels("label").tolist()) == sorted(
        LABELS
    )


def test_objects_that_are_gone_or_others_by_now_are_named(bucket, tmp_path):
    path = tmp_path / "list.parquet"
    penstock.index_objects(bucket.root, str(path), checksums=True, access=bucket.access)
    data = bytearray(FILES[KEYS[1]])
    data[-1] ^= 255
    bucket.store.remove([KEYS[0]])
    bucket.store.write(KEYS[1], bytes(data))
    bucket.store.write(KEYS[2], FILES[KEYS[2]] + b"more")
    report = penstock.pack(path, tmp_path / "p.pen", on_error="skip", access=bucket.access)
    size = len(FILES[KEYS[2]])
    assert [str(item) for item in report.skipped] == [
        f"{KEYS[0]}: unreadable: no such object",
        f"{KEYS[1]}: broken: the object has another checksum than when it was indexed",
        f"{KEYS[2]}: unreadable: it has {size + 4:,} bytes, where the index says {size:,}",
    ]
    with pytest.raises(SourceError, match=rf"no such object(.|\n)*{KEYS[0]}"):
        penstock.pack(path, tmp_path / "q.pen", access=bucket.access)


def test_the_digest_is_another_one_when_an_object_of_the_same_size_is(bucket, tmp_path):
    (tmp_path / "list.json").write_text(json.dumps(KEYS))
    options = Options(root=bucket.root, access=bucket.access)
    before = open_source(str(tmp_path / "list.json"), None, options).digest()
    assert open_source(str(tmp_path / "list.json"), None, options).digest() == before
    bucket.store.write(KEYS[1], bytes(reversed(FILES[KEYS[1]])))
    assert open_source(str(tmp_path / "list.json"), None, options).digest() != before


def test_classes_may_come_from_a_file(tmp_path):
    path = made(tmp_path).path
    classes = {str(at): {"id": 3 - at, "name": f"kind {at}"} for at in range(3)}
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    source = open_source(path, options=Options(labels=str(tmp_path / "classes.json")))
    assert source.classes == ("kind 2", "kind 1", "kind 0")
    assert source.label_values() == {"label": [2 - label for label in LABELS]}


def test_a_list_that_knows_no_root_wants_one_and_one_of_a_folder_wants_no_access(tmp_path):
    path = made(tmp_path).path
    (tmp_path / "list.json").write_text(json.dumps(KEYS))
    with pytest.raises(UsageError, match="this index does not say where its objects are"):
        penstock.pack(tmp_path / "list.json", tmp_path / "p.pen")
    with pytest.raises(UsageError, match="access is about object stores"):
        penstock.pack(path, tmp_path / "p.pen", access=penstock.Access(region="x"))
    with pytest.raises(SourceError, match="no object of the index is there"):
        penstock.pack(tmp_path / "list.json", tmp_path / "p.pen", root=tmp_path / "nowhere")


def test_the_command_line_says_what_there_is(tmp_path):
    path = made(tmp_path).path
    assert run("pack", path, "--dry-run").stdout.startswith("object-list: 9 samples (image)")
    assert json.loads(run("info", path, "--json").stdout)["kind"] == "object-list"


def test_other_json_and_parquet_is_not_taken_for_a_list(tmp_path):
    (tmp_path / "numbers.json").write_text("[1, 2]")
    (tmp_path / "object.json").write_text('{"a": 1}')
    for file in ("numbers.json", "object.json"):
        with pytest.raises(UsageError, match="nor a source that is known"):
            kind_at(str(tmp_path / file))
