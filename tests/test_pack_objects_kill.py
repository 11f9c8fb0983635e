"""kill -9 while packing into an object store, with real processes: the same call again gives the same bytes."""

import json
import subprocess
import sys

import numpy as np
import pytest

import penstock
from tests import folders, images, objects

OPTIONS = {"seed": 4, "keep_bytes": True}


@pytest.fixture
def campaign(seaweedfs, tmp_path):
    """Run a campaign; its results."""
    config = objects.access(seaweedfs, tmp_path).config

    def run(prefix, source, *, steps="all", shard_bytes=9000, old=None):
        penstock.pack(source, tmp_path / "whole.pen", shard_bytes=shard_bytes, **OPTIONS)
        url = f"s3://{seaweedfs.bucket}/{prefix}"
        arguments = [source, url, config, steps, shard_bytes, tmp_path / "whole.pen", *([] if old is None else [old])]
        command = [sys.executable, "-m", "tests.killing_objects", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        results = [json.loads(line) for line in done.stdout.splitlines()]
        assert [result["step"] for result in results if not result["equal"]] == []
        return [result for result in results if result["killed"]]

    return run


def test_a_pack_killed_before_any_request_resumes_to_the_same_objects(campaign, tmp_path):
    killed = campaign("killed/new.pen", folders.classes(tmp_path / "photos", 4))
    assert len(killed) > 25
    # Also between the manifest and the last clean-up.
    assert {result["published"] for result in killed} == {False, True}


def test_a_pack_over_another_dataset_killed_before_any_request_leaves_nothing_of_the_other(campaign, tmp_path):
    source = folders.classes(tmp_path / "photos", 3)
    penstock.pack(source, tmp_path / "old.pen", shard_bytes=1)  # more shards than there will be
    killed = campaign("killed/old.pen", source, old=tmp_path / "old.pen")
    assert len(killed) > 20
    assert [result["published"] for result in killed[:: len(killed) - 1]] == [True, True]  # the other, then the new
    assert {result["published"] for result in killed} == {False, True}


def test_a_pack_killed_between_the_parts_of_a_shard_resumes_to_the_same_objects(campaign, tmp_path):
    noise = np.random.default_rng(5).integers(0, 255, (900, 1000, 3), np.uint8)
    source = folders.write(tmp_path / "photos", {f"a/{i}.png": images.png(noise + i) for i in range(8)})
    killed = campaign("killed/parts.pen", source, steps="parts", shard_bytes=18 * 2**20)
    assert len(killed) > 4  # two shards, the first in three parts
    assert not any(result["published"] for result in killed)
