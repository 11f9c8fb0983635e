"""Loading from object stores: the batches that a disk gives, on good lines and on bad ones, or an error in time."""

import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from torch.utils.data import DataLoader

import penstock
from penstock.errors import PenstockError, UsageError
from penstock.ingest.object_lister import index_objects
from penstock.loader import Loader
from penstock.order import WindowShuffle
from penstock.storage.location import Requests
from penstock.testing.faults import FAULTS, FaultProxy, Profile
from penstock.torch import Dataset
from penstock.transforms import RandomResizedCrop
from tests.datasets import COUNT, folder, masked, packed
from tests.stores import IMPATIENT, access, allow, put, uploaded

CROP = RandomResizedCrop(16)
WINDOW = WindowShuffle(lanes=4, window_bytes=24_000, block_bytes=6_000)


@pytest.fixture
def url(seaweedfs, monkeypatch):
    allow(monkeypatch, seaweedfs)
    return uploaded(seaweedfs, packed(), "loader/photos.pen")


def batches(dataset, shuffle="full", epochs=1, **options):
    """All batches of some epochs: ids and pixels."""
    with Loader(dataset, batch_size=8, transforms=CROP, shuffle=shuffle, seed=5, **options) as loader:
        return [(batch.ids.tolist(), np.array(batch[0])) for _ in range(epochs) for batch in loader]


def through(opened, proxy, requests=IMPATIENT):
    """Have a dataset whose manifest and index came over a good line read its samples over a bad one."""
    store = opened.stored.store
    store.access = replace(store.access, endpoint=f"http://{proxy.host}:{proxy.port}", requests=requests)
    store._connection = None


def eventually(holds, seconds=20.0):
    """Whether something comes to hold in time."""
    ends, pause = time.monotonic() + seconds, threading.Event()
    while not holds() and time.monotonic() < ends:
        pause.wait(0.005)
    return holds()


def same(one, other):
    return len(one) == len(other) and all(
        ids == others and (pixels == theirs).all() for (ids, pixels), (others, theirs) in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("shuffle", ["full", WINDOW, False], ids=["full", "window", "sequential"])
def test_batches_are_those_of_the_same_dataset_on_a_disk(url, seaweedfs, shuffle):
    remote = penstock.open(url, access=access(seaweedfs.endpoint))
    assert same(batches(remote, shuffle, epochs=2), batches(packed(), shuffle, epochs=2))


def test_masks_and_images_are_read_together(seaweedfs, monkeypatch):
    allow(monkeypatch, seaweedfs)
    remote = penstock.open(uploaded(seaweedfs, masked(), "loader/masked.pen"), access=access(seaweedfs.endpoint))
    with Loader(remote, batch_size=4, transforms=CROP) as far, Loader(masked(), batch_size=4, transforms=CROP) as near:
        for one, other in zip(far, near, strict=True):
            assert (one["image"] == other["image"]).all()
            assert (one["mask"] == other["mask"]).all()


def test_plain_http_serves_a_dataset_too(nginx):
    for path in packed().rglob("*"):
        if path.is_file():
            target = nginx.folder / "photos.pen" / path.relative_to(packed())
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    remote = penstock.open(f"{nginx.endpoint}/photos.pen")
    assert same(batches(remote, WINDOW), batches(packed(), WINDOW))


def test_ranks_fetch_their_share_and_no_more(url, seaweedfs):
    fetched = []
    for rank in range(2):
        remote = penstock.open(url, access=access(seaweedfs.endpoint))
        with Loader(remote, batch_size=4, transforms=CROP, shuffle=WINDOW, rank=rank, world_size=2) as loader:
            for _ in loader:
                pass
            fetched.append(loader.statistics().requested_bytes)
    whole = sum(shard.bytes for shard in penstock.open(packed()).packed.manifest.shards)
    assert sum(fetched) <= 1.05 * whole


@pytest.fixture
def opened_as(url, seaweedfs, tmp_path):
    """Open the photographs in the store, packed or loose, and again where they are on the disk."""

    def opened(form):
        if form == "packed":
            return penstock.open(url, access=access(seaweedfs.endpoint)), penstock.open(packed())
        loose = put(seaweedfs, folder(), "loader/photos")
        lists = tmp_path / "far.parquet", tmp_path / "near.parquet"
        for place, at in zip((loose, folder()), lists, strict=True):
            told = access(seaweedfs.endpoint) if at == lists[0] else None
            index_objects(place, at, checksums=form == "summed", access=told)
        return penstock.open(lists[0], access=access(seaweedfs.endpoint)), penstock.open(lists[1])

    return opened


FORMS = [("packed", "full"), ("packed", WINDOW), ("loose", "full"), ("summed", "full")]


@pytest.mark.parametrize(("form", "shuffle"), FORMS, ids=["packed", "packed, window", "loose", "loose, summed"])
@pytest.mark.parametrize("name", FAULTS)
def test_on_a_bad_line_an_epoch_is_whole_and_right_or_ends_with_a_clear_error_in_time(
    opened_as, seaweedfs, name, form, shuffle
):
    opened, near = opened_as(form)
    expected = batches(near, shuffle)
    with FaultProxy(seaweedfs.host, seaweedfs.port, FAULTS[name], seed=11) as proxy:
        began = time.monotonic()
        through(opened, proxy)
        try:
            found = batches(opened, shuffle)
        except PenstockError as error:
            found = error
        assert time.monotonic() - began < 3 * IMPATIENT.deadline_seconds
        if isinstance(found, PenstockError):  # it says which object of which store, or which sample in which file
            assert "s3://" in str(found) or (found.sample is not None and found.file is not None)
        else:
            assert same(found, expected)
        assert sum(proxy.counts.requests.values()) > 0


NOTICED = ["refuse", "truncate", "reset", "wrong_range", "lengthen", "drip", "silence"]
OUTLASTED = [*((name, "packed", WINDOW) for name in NOTICED), *((name, "loose", "full") for name in [*NOTICED, "flip"])]


@pytest.mark.parametrize(("name", "form", "shuffle"), OUTLASTED)
def test_faults_that_are_noticed_are_outlasted(opened_as, seaweedfs, name, form, shuffle):
    opened, near = opened_as(form)
    with FaultProxy(seaweedfs.host, seaweedfs.port, FAULTS[name], seed=2) as proxy:
        through(opened, proxy)
        assert same(batches(opened, shuffle), batches(near, shuffle))
        (told,), _ = opened.stored.statistics()
        assert told.retries + told.hedges > 0


@pytest.mark.parametrize("form", ["packed", "loose", "summed"])
def test_bytes_that_come_damaged_are_asked_for_again(opened_as, seaweedfs, form):
    opened, near = opened_as(form)
    with FaultProxy(seaweedfs.host, seaweedfs.port, Profile(flip=0.3), seed=4) as proxy:
        through(opened, proxy)
        assert same(batches(opened, False, on_error="skip")[:2], batches(near, False)[:2])
        assert proxy.counts.faults["flip"] > 0


@pytest.mark.parametrize("form", ["packed", "loose", "summed"])
def test_bytes_that_come_damaged_every_time_are_the_samples_errors(opened_as, seaweedfs, form):
    opened, _ = opened_as(form)
    with FaultProxy(seaweedfs.host, seaweedfs.port, Profile(flip=1.0), seed=4) as proxy:
        through(opened, proxy, replace(IMPATIENT, deadline_seconds=1.0))
        with pytest.raises(
            PenstockError, match=r"(?s)(stored bytes do not match|the store sent other bytes).*sample class"
        ):
            batches(opened)


def test_a_server_that_goes_away_in_the_middle_is_an_error_with_sample_and_object(url, seaweedfs):
    opened = penstock.open(url, access=access(seaweedfs.endpoint))
    with FaultProxy(seaweedfs.host, seaweedfs.port, Profile(refuse=1.0, statuses=(500,)), seed=1) as proxy:
        requests = Requests(attempt_seconds=0.5, deadline_seconds=1.0)
        through(opened, proxy, requests)
        with pytest.raises(PenstockError, match=r"status 500 .*attempts \(sample .*file s3://.*bytes") as caught:
            batches(opened)
    assert seaweedfs.secret not in str(caught.value)


def test_leaving_early_stops_what_is_under_way(url, seaweedfs):
    opened = penstock.open(url, access=access(seaweedfs.endpoint))
    with FaultProxy(seaweedfs.host, seaweedfs.port, Profile(silence=1.0), seed=1) as proxy:
        through(opened, proxy, Requests(attempt_seconds=60, deadline_seconds=60))
        loader = Loader(opened, batch_size=8, transforms=CROP)
        consumer = threading.Thread(target=lambda: list(loader))
        consumer.start()
        assert eventually(lambda: sum(proxy.counts.requests.values()) > 0)
        began = time.monotonic()
        loader.close()
        consumer.join(20)
        assert not consumer.is_alive()
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_worker_processes_that_are_started_anew_open_their_own_connection(url, seaweedfs, method):
    dataset = Dataset(penstock.open(url, access=access(seaweedfs.endpoint)), transforms=CROP)
    found = DataLoader(dataset, batch_size=10, num_workers=2, multiprocessing_context=method)
    assert sorted(label for _, labels in found for label in labels.tolist()) == sorted(
        penstock.open(packed()).labels("label").tolist()
    )


def test_a_forked_worker_is_told_why_it_cannot_and_what_to_do(url, seaweedfs):
    dataset = Dataset(penstock.open(url, access=access(seaweedfs.endpoint)), transforms=CROP)
    with pytest.raises(UsageError, match="forkserver"):
        list(DataLoader(dataset, batch_size=10, num_workers=1, multiprocessing_context="fork"))


def test_a_fork_before_the_first_request_is_no_fork_at_all(url, seaweedfs):
    code = (
        "import os, sys, penstock\n"
        "from tests.stores import access\n"
        "child = os.fork()\n"
        "os.write(1, b'%d ' % len(penstock.open(sys.argv[1], access=access(sys.argv[2]))))\n"  # two write: each at once
        "if child: os._exit(os.waitpid(child, 0)[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, url, seaweedfs.endpoint], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, [str(COUNT)] * 2), done.stderr
