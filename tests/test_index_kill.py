"""kill -9 while listing objects, with real processes: no list is half there, and sums go on where they were."""

import json
import subprocess
import sys

import pytest

import penstock
from tests import folders, objects, stores

COUNT = 12


@pytest.fixture
def source(tmp_path):
    return folders.classes(tmp_path / "photos", COUNT)


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """Run a campaign; what it says of the children that were killed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def run(source, out, way, *, access=None, old=None):
        whole = tmp_path / "whole.parquet"
        penstock.index_objects(source, whole, checksums=way == "checksums", access=access)
        arguments = [source, out, whole, way, access.config if access else "none", *([] if old is None else [old])]
        command = [sys.executable, "-m", "tests.killing_index", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        results = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(result["equal"] and result["forgot"] for result in results), results
        return [result for result in results if result["killed"]]

    return run


def test_a_list_of_a_folder_is_there_whole_or_not_at_all_and_listing_again_gives_it(campaign, source, tmp_path):
    killed = campaign(source, tmp_path / "i.parquet", "plain")
    assert {result["left"] for result in killed} == {"nothing"}
    assert len(killed) >= 2  # before it is written, and before it gets its name


def test_a_list_that_replaces_another_leaves_that_until_it_is_whole(campaign, source, tmp_path):
    penstock.index_objects(source, tmp_path / "old.parquet", classes=False)
    killed = campaign(source, tmp_path / "i.parquet", "checksums", old=tmp_path / "old.parquet")
    assert [result["left"] for result in killed] == sorted(result["left"] for result in killed)  # the old one, the new
    assert {result["left"] for result in killed} == {"old", "whole"}
    read = [result["objects"] for result in killed if result["left"] == "old"]
    assert read[0] == COUNT
    assert read[-1] == 0, "all were summed, and only the list was not written"
    assert sorted(read, reverse=True) == read
    assert len(set(read)) > COUNT // 4


def test_a_list_of_a_bucket_in_a_bucket_is_there_whole_or_not_at_all(
    campaign, source, seaweedfs, tmp_path, monkeypatch
):
    stores.allow(monkeypatch, seaweedfs)
    url = stores.put(seaweedfs, source, "killed/photos")
    out = f"s3://{seaweedfs.bucket}/killed/lists/i.parquet"
    killed = campaign(url, out, "checksums", access=objects.access(seaweedfs, tmp_path))
    assert {result["left"] for result in killed} <= {"nothing", "whole"}
    read = [result["objects"] for result in killed if result["left"] == "nothing"]
    assert (read[0], read[-1]) == (COUNT, 0)
