"""Packing on Ray: the bytes of one process, from a cluster, also when a node or the driver is killed."""

import json
import os
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.cli import main
from penstock.errors import UsageError
from penstock.ray import Cluster, _slices
from tests import clips, folders, images

DRIVER = """
import sys, penstock
from penstock.ray import Cluster
penstock.pack(sys.argv[1], sys.argv[2], shard_bytes=100_000, workers=1, engine=Cluster(slice_bytes=30_000),
              progress=lambda state: print(state.items, flush=True))
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, where Ray must leave nothing."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    assert os.listdir(tmp_path / "home") == []


def seen(mode, source, folder):
    folder.mkdir()
    command = [sys.executable, "-m", "tests.clusters", mode, source, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def photos(root, count, width=320, height=240):
    """Large enough that what nodes make of a slice lies in their object stores and not with the driver."""
    return folders.write(
        root, {f"c{i // 12}/{i:03d}.jpg": images.jpeg(images.photo(width, height, seed=i)) for i in range(count)}
    )


def test_ray_on_this_machine_makes_the_bytes_of_one_process_and_keeps_to_itself(tmp_path, home):
    source = photos(tmp_path / "photos", 48)
    result, said = seen("alone", source, tmp_path / "out")
    penstock.pack(source, tmp_path / "whole.pen", shard_bytes=400_000)
    assert folders.content(tmp_path / "out" / "ray.pen") == folders.content(tmp_path / "whole.pen")
    assert json.loads(said)["shards"] > 2  # and nothing else is said
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert len(result["listening"]) > 1
    assert set(result["listening"]) <= loopback
    assert result["children"] == 0


def test_errors_skipped_files_masks_clips_and_extensions_are_those_of_one_process(tmp_path):
    source = tmp_path / "source"
    folders.classes(source / "masks", 6)
    folders.write(source, {"more/c0/9.jpg": folders.jpeg(9), "more/c7/9.jpg": folders.jpeg(19)})
    named = [f"c{i // 4}/{i:03d}.png" for i in range(6)] + ["c0/9.png", "c7/9.png"]
    folders.write(source / "drawn", {name: images.png(np.full((24, 40), i, np.uint8)) for i, name in enumerate(named)})
    folders.write(folders.classes(source / "broken", 12), {"c1/x.jpg": folders.jpeg(3)[:200], "c2/y.jpg": b"none"})
    clips.frame_folders(source / "clips")
    result, _ = seen("given", source, tmp_path / "out")
    assert result["ray"] == result["threads"]
    assert [text.partition(":")[0] for text in result["ray"]][::3] == ["SourceError", "UsageError"]
    assert json.loads(result["ray"][1])[2] == {"broken": 1, "not an image": 1, "tiled": 12}
    assert json.loads(result["ray"][4])[:2] == [8, 2]
    for name in ("skipping", "masks", "clips"):
        one, other = (folders.content(tmp_path / "out" / engine / f"{name}.pen") for engine in ("threads", "ray"))
        assert one == other
        assert penstock.verify(tmp_path / "out" / "ray" / f"{name}.pen").is_sound
    assert json.loads(result["relative"])[0] == 2
    assert result["impatient"].startswith("StalledError: the driver waited for a node to do its part: got nothing")
    assert result["unseen"].startswith("UsageError: a node of the cluster does not see this path: got not on 127.0.0.1")


def test_what_a_killed_node_had_made_is_made_again_to_the_same_bytes(tmp_path, home):
    source = photos(tmp_path / "photos", 48, 640, 480)
    result, _ = seen("nodes", source, tmp_path / "out")
    assert result["lost"] > 0
    assert (result["samples"], result["nodes"]) == (48, 1)
    penstock.pack(source, tmp_path / "whole.pen", shard_bytes=800_000)
    assert folders.content(tmp_path / "out" / "ray.pen") == folders.content(tmp_path / "whole.pen")


def test_a_killed_driver_is_gone_on_with_by_whatever_does_the_work(tmp_path, home):
    source = photos(tmp_path / "photos", 36)
    with subprocess.Popen([sys.executable, "-c", DRIVER, source, tmp_path / "p.pen"], stdout=subprocess.PIPE) as driver:
        while (tmp_path / "p.pen" / "packing" / "000001").exists() is False:
            assert driver.stdout.readline()
        os.kill(driver.pid, signal.SIGKILL)
    report = penstock.pack(source, tmp_path / "p.pen", shard_bytes=100_000)
    assert report.resumed_items > 0
    penstock.pack(source, tmp_path / "whole.pen", shard_bytes=100_000)
    assert folders.content(tmp_path / "p.pen") == folders.content(tmp_path / "whole.pen")


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=60),
    st.integers(1, 100),
    st.randoms(use_true_random=False),
    st.data(),
)
def test_slices_cover_the_order_and_hold_no_more_than_they_should(sizes, limit, random, data):
    order = random.sample(range(len(sizes)), len(sizes))
    start = data.draw(st.integers(0, len(sizes)))
    items = SimpleNamespace(sizes=np.array(sizes, np.int64))
    work = SimpleNamespace(source=SimpleNamespace(fields={"image": items}))
    found = list(_slices(work, order, start, limit))
    assert [position for first, stop in found for position in range(first, stop)] == list(range(start, len(sizes)))
    for first, stop in found:
        assert stop - first == 1 or sum(sizes[order[position]] for position in range(first, stop)) <= limit


def test_an_address_where_no_cluster_is_is_told_at_once(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        engine = Cluster(f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(UsageError, match="no Ray cluster answers at this address"):
            penstock.pack(folders.classes(tmp_path / "photos", 3), tmp_path / "p.pen", engine=engine)


def test_an_address_is_that_of_a_cluster(tmp_path):
    result = CliRunner().invoke(main, ["pack", str(tmp_path), str(tmp_path / "p.pen"), "--address", "auto"])
    assert result.exit_code != 0
    assert "say --engine ray, too" in f"{result.output}{result.exception}"


@pytest.mark.parametrize("options", [{"slice_bytes": 0}, {"patience_s": 0}])
def test_nothing_is_neither_a_slice_nor_patience(options):
    with pytest.raises(UsageError, match="more than nothing"):
        Cluster(**options)
