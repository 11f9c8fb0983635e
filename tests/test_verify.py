"""Verifying: a sound dataset is sound, and whatever is damaged is found and named."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.errors import FormatError, UsageError
from penstock.shard.checks import sha256
from penstock.shard.index import encode_index
from tests import folders


@pytest.fixture
def packed(tmp_path):
    source = folders.classes(tmp_path / "photos")
    folders.write(source, {"c0/p.png": folders.png(), "c0/" + "long" * 30 + "ü.jpg": folders.jpeg(70)})
    penstock.pack(source, tmp_path / "p.pen", shard_bytes=14_000)
    return tmp_path / "p.pen"


def with_index(packed, change):
    """Change the index, and make the manifest agree, as a writer with a bug would."""
    table = change(pq.read_table(packed / "index.parquet"))
    encoded = encode_index(table)
    (packed / "index.parquet").write_bytes(encoded)
    with_manifest(packed, lambda body: body["index"].update(bytes=encoded.size, sha256=sha256(encoded)))


def with_manifest(packed, change):
    body = json.loads((packed / "penstock.json").read_bytes())
    change(body)
    (packed / "penstock.json").write_text(json.dumps(body))


def with_value(name, row, value):
    def change(table):
        values = table.column(name).to_pylist()
        values[row] = value
        position = table.column_names.index(name)
        return table.set_column(position, table.schema.field(name), pa.array(values, table.schema.field(name).type))

    return change


def flip(path, byte):
    data = bytearray(path.read_bytes())
    data[byte] ^= 1
    path.write_bytes(data)


def test_a_fresh_dataset_is_sound(packed):
    seen = []
    report = penstock.verify(packed, progress=lambda done, total: seen.append((done, total)))
    assert report.damages == ()
    assert report.is_sound
    assert (report.samples, seen[-1]) == (14, (report.shards, report.shards))
    raw = packed.with_name("raw.pen")
    penstock.pack(packed.with_name("photos"), raw, raw=True)
    assert penstock.verify(raw).is_sound


def test_every_sample_with_a_flipped_bit_is_found(packed):
    column = penstock.open(packed).column("image")
    keys = penstock.open(packed).index.column("key").to_pylist()
    files = sorted((packed / "shards").iterdir())
    hit = [1, 4, 5, 11]
    for number in hit:
        flip(files[column.file[number]], int(column.offset[number] + column.length[number] // 2))
    report = penstock.verify(packed)
    assert report.damaged_samples == tuple(sorted(keys[number] for number in hit))
    (found,) = [damage for damage in report.damages if damage.key == keys[4]]
    assert found.what == "checksum differs"
    assert found.byte_range == (column.offset[4], column.offset[4] + column.length[4])


def test_one_flipped_bit_anywhere_in_a_dataset_is_found(packed):
    for path in [packed / "index.parquet", *(packed / "shards").iterdir()]:
        data = path.read_bytes()
        for byte in np.random.default_rng(3).integers(0, len(data), 25).tolist():
            flip(path, byte)
            assert not penstock.verify(packed).is_sound, f"{path} {byte}"
            path.write_bytes(data)
    assert penstock.verify(packed).is_sound


def test_a_shard_cut_short_loses_the_samples_behind_the_cut(packed):
    dataset = penstock.open(packed)
    inside = np.flatnonzero(dataset.column("image").file == 1)
    behind = inside[len(inside) // 2 :]
    os.truncate(packed / "shards" / "000001.tar", int(dataset.column("image").offset[behind[0]]) + 5)
    report = penstock.verify(packed)
    assert report.damaged_samples == tuple(sorted(dataset.key(number) for number in behind))


def test_a_shard_that_is_gone_loses_all_its_samples(packed):
    dataset = penstock.open(packed)
    (packed / "shards" / "000000.tar").unlink()
    gone = np.flatnonzero(dataset.column("image").file == 0)
    assert penstock.verify(packed).damaged_samples == tuple(sorted(dataset.key(number) for number in gone))


def test_a_shard_that_the_manifest_does_not_name_is_found(packed):
    (packed / "shards" / "000099.tar").write_bytes(b"")
    (packed / "shards" / "notes.txt").write_bytes(b"")
    damages = penstock.verify(packed).damages
    assert [(damage.file, damage.what) for damage in damages] == [
        ("shards/000099.tar", "the manifest does not name this shard")
    ]


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("image.offset", 10**12, "outside the shard"),
        ("image.offset", -5, "outside the shard"),
        ("image.length", 7, "checksum differs"),
        ("image.length", -7, "outside the shard"),
        ("image.crc32c", 1, "checksum differs"),
        ("image.width", 41, "not what the index states"),
        ("image.format", "webp", "the tar member differs"),
        ("image.format", "magic", "the format is unknown"),
        ("key", "c9/other", "the tar member differs"),
        ("label", 2, "cls differs"),
    ],
)
def test_a_row_that_points_wrong_is_found(packed, name, value, what):
    row = [label.as_py() for label in pq.read_table(packed / "index.parquet").column("label")].index(1)
    key = pq.read_table(packed / "index.parquet").column("key")[row].as_py()
    with_index(packed, with_value(name, row, value))
    report = penstock.verify(packed)
    assert any(what in damage.what for damage in report.damages), report.damages
    assert report.damaged_samples == (("c9/other",) if name == "key" else (key,))


def test_a_row_that_points_at_another_sample_is_found(packed):
    table = pq.read_table(packed / "index.parquet")
    parts = {name: table.column(name)[0].as_py() for name in table.column_names if name.startswith("image.")}
    key = table.column("key")[1].as_py()

    def change(table):
        for name, value in parts.items():
            table = with_value(name, 1, value)(table)
        return table

    with_index(packed, change)
    report = penstock.verify(packed)
    assert [(damage.key, damage.what) for damage in report.damages] == [(key, "the tar member differs")]


def test_a_missing_row_and_a_doubled_one_are_found(packed):
    whole = pq.read_table(packed / "index.parquet")
    with_index(packed, lambda table: table.slice(1))
    assert any("number of samples" in damage.what for damage in penstock.verify(packed).damages)
    with_index(packed, lambda _: pa.concat_tables([whole.slice(1), whole.slice(1, 1)]))
    assert any("two rows" in damage.what for damage in penstock.verify(packed).damages)


def test_a_digest_that_differs_is_found(packed):
    with_manifest(packed, lambda body: body["index"].update(sha256="0" * 64))
    with_manifest(packed, lambda body: body["shards"][1].update(sha256="1" * 64))
    damages = penstock.verify(packed).damages
    assert [damage.file for damage in damages] == ["index.parquet", "shards/000001.tar"]
    assert all("SHA-256" in damage.what for damage in damages)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"x" * 1000])
def test_an_index_that_cannot_be_read_is_found(packed, data):
    (packed / "index.parquet").write_bytes(data)
    assert any("cannot be read" in damage.what for damage in penstock.verify(packed).damages)


@pytest.mark.parametrize("name", ["image.crc32c", "image.length", "image.format", "label", "key"])
def test_an_index_without_a_column_is_found(packed, name):
    with_index(packed, lambda table: table.drop_columns([name]))
    assert any(f"{name} is missing" in damage.what for damage in penstock.verify(packed).damages)
    with pytest.raises(FormatError, match=f"lacks a column.*{name}"):
        penstock.open(packed)


def test_a_damaged_manifest_is_found(packed):
    (packed / "penstock.json").write_text("{")
    assert not penstock.verify(packed).is_sound


def test_a_manifest_that_the_system_does_not_give_is_found(packed):
    (packed / "penstock.json").unlink()
    (packed / "penstock.json").mkdir()
    (damage,) = penstock.verify(packed).damages
    assert str(damage) == "penstock.json: cannot be read: Is a directory"


@pytest.mark.parametrize(("classes", "wrong"), [([], 14), (["c0"], 8), (["c0", "c1", "c2"], 0), (None, 0)])
def test_labels_that_are_no_classes_are_found(packed, classes, wrong):
    with_manifest(packed, lambda body: body.update(classes=classes))
    damages = penstock.verify(packed).damages
    assert [damage.what for damage in damages] == ["the label is no class"] * wrong
    assert len({damage.key for damage in damages}) == wrong


def test_labels_that_cannot_be_classes_are_found(packed):
    with_index(packed, with_value("label", 3, -1))
    assert "the label is no class" in [damage.what for damage in penstock.verify(packed).damages]
    with_index(packed, lambda table: table.set_column(table.column_names.index("label"), "label", [["a"] * len(table)]))
    assert "there are classes, but the label is no number" in [
        damage.what for damage in penstock.verify(packed).damages
    ]


def test_only_packed_datasets_can_be_verified(tmp_path):
    with pytest.raises(UsageError, match="no packed dataset"):
        penstock.verify(folders.classes(tmp_path / "photos", 1))
