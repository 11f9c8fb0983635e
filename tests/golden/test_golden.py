"""Datasets of every format version stay readable, and the writer still writes them.

They were made once, by make.py, and are never made again.
"""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.shard.checks import sha256
from penstock.shard.index import encode_index
from penstock.shard.keys import unique_keys
from tests import folders, images
from tests.golden.make import DATASETS, HERE, SOURCE, described, packed

# The tiled ones depend on how JPEGs are rewritten, which may get better; these depend on nothing but the format.
REPEATABLE = [name for name in DATASETS if name not in {"v1-tiled", "v1-raw"}]


def test_every_golden_dataset_is_there():
    assert sorted(path.name for path in HERE.glob("v*-*") if path.is_dir()) == sorted(DATASETS)


@pytest.mark.parametrize("name", DATASETS)
def test_a_golden_dataset_holds_what_it_held(name):
    assert described(HERE / name) == json.loads((HERE / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", DATASETS)
def test_a_golden_dataset_is_sound(name):
    assert penstock.verify(HERE / name).damages == ()


@pytest.mark.parametrize("name", DATASETS)
def test_a_golden_dataset_shows_the_pixels_of_its_source(name):
    source = folders.content(SOURCE / DATASETS[name]["source"])
    files = dict(zip(unique_keys(sorted(source))[0], sorted(source), strict=True))
    for sample in penstock.open(HERE / name):
        assert np.array_equal(sample.image(), images.rgb(source[files.pop(sample.key)])), sample.key
    assert files == {}


@pytest.mark.parametrize("name", REPEATABLE)
def test_the_writer_still_writes_the_golden_shards(name, tmp_path):
    packed(name, tmp_path / "p.pen")
    again, golden = (folders.content(path) for path in (tmp_path / "p.pen", HERE / name))
    assert {file for file in again if file.endswith(".tar")} == {file for file in golden if file.endswith(".tar")}
    for file, data in golden.items():
        if file.endswith(".tar"):
            assert again[file] == data, file
    # Parquet's bytes name the library that wrote them; the rows must be the same.
    tables = [pq.read_table(path / "index.parquet") for path in (tmp_path / "p.pen", HERE / name)]
    assert tables[0].equals(tables[1])


def test_columns_and_manifest_members_from_the_future_are_passed_over(tmp_path):
    shutil.copytree(HERE / "v1-kept", tmp_path / "p.pen")
    body = json.loads((tmp_path / "p.pen" / "penstock.json").read_text("utf-8"))
    body["mood"] = {"today": "good"}
    table = pq.read_table(tmp_path / "p.pen" / "index.parquet")
    for name in ("mood", "image.mood", "thumbnail.offset"):
        table = table.append_column(name, [list(range(len(table)))])
    encoded = encode_index(table)
    (tmp_path / "p.pen" / "index.parquet").write_bytes(encoded)
    body["index"].update(bytes=encoded.size, sha256=sha256(encoded))
    (tmp_path / "p.pen" / "penstock.json").write_text(json.dumps(body), "utf-8")
    assert described(tmp_path / "p.pen") == described(HERE / "v1-kept")
    dataset = penstock.open(tmp_path / "p.pen")
    assert (dataset.fields, dataset.label_names) == (("image",), ("label",))
    assert penstock.verify(tmp_path / "p.pen").damages == ()
