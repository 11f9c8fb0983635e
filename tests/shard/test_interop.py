"""Other people's tools read packed datasets without us."""

import gc
import io
import json
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import webdataset

import penstock
from tests import folders, images

FILES = {
    "cat/1.jpg": folders.jpeg(1),
    "cat/1.png": folders.png(2),
    "cat/a.b.jpg": folders.jpeg(3),
    "dog/ü ß.jpg": folders.jpeg(4),
    "dog/" + "n" * 180 + ".jpg": folders.jpeg(5),
    "__dog__/1.jpg": folders.jpeg(6),
}


@pytest.fixture
def packed(tmp_path):
    source = folders.write(tmp_path / "photos", FILES)
    penstock.pack(source, tmp_path / "p.pen", shard_bytes=12_000)
    return penstock.open(tmp_path / "p.pen")


def shards(packed):
    return [f"{packed.path}/{shard.file}" for shard in packed.packed.manifest.shards]


def test_python_tarfile_gives_every_member_where_the_index_says(packed):
    column, members = packed.column("image"), {}
    for number, path in enumerate(shards(packed)):
        with tarfile.open(path, encoding="utf-8") as archive:
            members |= {
                (number, member.offset_data): (member.name, archive.extractfile(member).read()) for member in archive
            }
    for sample in packed:
        place = (column.file[sample.id], column.offset[sample.id])
        extension = {"jpeg": "jpg", "png": "png"}[sample.fields["image"].format]
        assert members[place] == (f"{sample.key}.{extension}", sample.fields["image"].data)


def test_gnu_tar_unpacks_every_shard(packed, tmp_path):
    (tmp_path / "out").mkdir()
    for path in shards(packed):
        command = ["tar", "--extract", "--file", path, "--directory", tmp_path / "out"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert done.stderr == ""
    found = folders.content(tmp_path / "out")
    assert len(found) == 2 * len(FILES)
    for sample in packed:
        assert found[f"{sample.key}.cls"] == str(sample.labels["label"]).encode()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # webdataset leaves its files to the garbage collector
def test_webdataset_gives_the_same_samples(packed):
    found = {}
    for item in webdataset.WebDataset(shards(packed), shardshuffle=False, empty_check=False):
        encoded = item.get("jpg", item.get("png"))
        found[item["__key__"]] = (images.rgb(encoded), int(item["cls"]))
    gc.collect()
    assert len(found) == len(FILES)
    for sample in packed:
        pixels, label = found[sample.key]
        assert np.array_equal(pixels, sample.image())
        assert label == sample.labels["label"]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_webdataset_decodes_labels_and_raw_pixels(tmp_path):
    (tmp_path / "l.csv").write_text("file,age,note\n1.jpg,7,x\n")
    source = folders.write(tmp_path / "photos", {"1.jpg": folders.jpeg(1)})
    penstock.pack(source, tmp_path / "p.pen", raw=True, labels=tmp_path / "l.csv")
    (item,) = webdataset.WebDataset(str(tmp_path / "p.pen/shards/000000.tar"), shardshuffle=False, empty_check=False)
    assert json.loads(item["json"]) == {"age": 7, "note": "x"}
    gc.collect()
    assert np.array_equal(np.load(io.BytesIO(item["npy"])), images.rgb(folders.jpeg(1)))


def test_pyarrow_reads_the_index_and_its_ranges(packed):
    table = pq.read_table(f"{packed.path}/index.parquet")
    for row in table.to_pylist():
        with open(f"{packed.path}/{row['file']}", "rb") as file:
            file.seek(row["image.offset"])
            pixels = images.rgb(file.read(row["image.length"]))
        assert pixels.shape == (row["image.height"], row["image.width"], 3)
    kinds = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert kinds["key"] == "string"
    assert kinds["image.offset"] == kinds["image.length"] == kinds["label"] == "int64"
    assert kinds["image.crc32c"] == "uint32"


def test_a_reader_needs_nothing_but_the_documents(packed):
    manifest = json.loads(Path(packed.path, "penstock.json").read_bytes())
    assert (manifest["format"], manifest["version"], manifest["samples"]) == ("penstock", 1, len(FILES))
    assert [f"{packed.path}/{shard['file']}" for shard in manifest["shards"]] == shards(packed)
