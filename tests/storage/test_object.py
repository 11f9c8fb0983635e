"""Objects in real stores: read, written, listed, fetched by plan; and what goes wrong, in words that help."""

import pickle

import numpy as np
import pytest

from penstock.errors import StorageError, UsageError
from penstock.storage.location import Access, Requests
from penstock.storage.object import ObjectStore
from penstock.storage.ranges import plan_reads
from penstock.testing.faults import FAULTS, FaultProxy
from tests.stores import access, allow

BODY = np.random.default_rng(3).integers(0, 256, 300_000, np.uint8).tobytes()
NAMES = ["plain.bin", "a folder/b c.bin", "Übung 100%.bin", "x+y=z&w.bin", "deep/er/still"]


@pytest.fixture
def store(seaweedfs, monkeypatch, request):
    allow(monkeypatch, seaweedfs)
    return ObjectStore(f"s3://{seaweedfs.bucket}/{request.node.name}", access(seaweedfs.endpoint))


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_what_was_written_is_read_and_has_its_size(store, name):
    store.write(name, BODY)
    assert store.read(name) == BODY
    assert store.size(name) == len(BODY)
    assert [listed.name for listed in store.list()] == [name]


def test_an_object_that_is_not_there_has_no_size_and_cannot_be_read(store):
    assert store.size("nothing") is None
    with pytest.raises(StorageError, match=r"there is no such object.*nothing") as caught:
        store.read("nothing")
    assert caught.value.errno == 2


def test_what_was_removed_is_gone_and_may_be_removed_again(store):
    store.write("here", b"x")
    store.remove(["here", "never there"])
    assert store.size("here") is None


def test_a_listing_goes_on_beyond_its_first_page_and_begins_with_what_is_asked_for(store):
    names = [f"many/{number:04d}" for number in range(1005)]
    for name in names:
        store.write(name, b"1")
    store.write("many-others/0001", b"1")
    assert [listed.name for listed in store.list("many/")] == names
    assert [listed.name for listed in store.list("many/000")] == names[:10]
    assert [listed.name for listed in store.below("many").list("100")] == ["1000", "1001", "1002", "1003", "1004"]


def test_a_plan_of_ranges_is_carried_out(store):
    store.write("one", BODY)
    store.write("two", BODY[::-1])
    rng = np.random.default_rng(5)
    offset = rng.integers(0, 290_000, 40)
    length = rng.integers(1, 9_000, 40)
    file = rng.integers(0, 2, 40).astype(np.int32)
    plan = plan_reads(file, offset, length, gap_bytes=100)
    block = np.zeros(plan.block_bytes, np.uint8)
    assert store.begin(["one", "two"], plan, block).failures() == []
    for number in range(40):
        begin = plan.start[number]
        expected = (BODY, BODY[::-1])[file[number]][offset[number] : offset[number] + length[number]]
        assert block[begin : begin + length[number]].tobytes() == expected


def test_a_long_read_is_several_requests_and_one_beyond_the_end_says_how_much_there_was(store):
    large = BODY * 12
    store.write("large", large)
    plan = plan_reads(np.zeros(1, np.int32), np.array([100]), np.array([len(large)]))
    block = np.zeros(plan.block_bytes, np.uint8)
    (failure,) = store.begin(["large"], plan, block).failures()
    assert (failure.read, failure.arrived, failure.error) == (0, len(large) - 100, None)
    assert block[: len(large) - 100].tobytes() == large[100:]
    assert store.statistics().requests > 1


LARGE = np.random.default_rng(4).integers(0, 256, 11 * 2**20, np.uint8).tobytes()


@pytest.mark.parametrize("server", ["seaweedfs", "nginx", "rclone"])
def test_a_large_object_is_read_by_many_requests_where_the_server_gives_ranges(server, request, monkeypatch):
    name, server = server, request.getfixturevalue(server)
    if name == "nginx":
        (server.folder / "large.bin").write_bytes(LARGE)
        store = ObjectStore(server.endpoint)
    else:
        allow(monkeypatch, server)
        store = ObjectStore(f"s3://{server.bucket}", access(server.endpoint))
        store.write("large.bin", LARGE)
    assert store.read("large.bin") == LARGE
    assert store.statistics().requests > 4


@pytest.mark.parametrize("name", ["truncate", "reset", "stall", "refuse", "wrong_range", "silence"])
def test_a_large_object_is_read_over_a_bad_line(store, seaweedfs, name):
    store.write("large.bin", LARGE)
    with FaultProxy(seaweedfs.host, seaweedfs.port, FAULTS[name], seed=3) as proxy:
        far = ObjectStore(store.location, access(f"http://{proxy.host}:{proxy.port}"))
        assert far.read("large.bin") == LARGE
        assert far.statistics().retries + far.statistics().hedges > 0


def test_a_whole_read_that_comes_damaged_is_made_again(store, seaweedfs):
    store.write("list.json", BODY)
    with FaultProxy(seaweedfs.host, seaweedfs.port, FAULTS["flip"], seed=3) as proxy:
        far = ObjectStore(store.location, access(f"http://{proxy.host}:{proxy.port}"))
        assert [far.read("list.json") == BODY for _ in range(20)] == [True] * 20
        assert proxy.counts.faults["flip"] > 0


def test_a_store_that_gives_no_ranges_says_at_once_that_an_object_is_too_large_for_a_part_of_it(rclone, monkeypatch):
    allow(monkeypatch, rclone)
    monkeypatch.setattr("penstock.storage.fetch.WHOLE_MOST_BYTES", 1_000_000)
    store = ObjectStore(f"s3://{rclone.bucket}", access(rclone.endpoint))
    store.write("large.bin", LARGE)
    plan = plan_reads(np.zeros(1, np.int32), np.array([1000]), np.array([5000]))
    (failure,) = store.begin(["large.bin"], plan, np.zeros(plan.block_bytes, np.uint8)).failures()
    with pytest.raises(StorageError, match=r"gives no ranges.*11,534,336 bytes.*large\.bin"):
        raise failure.error
    assert store.read("large.bin") == LARGE


def test_a_store_travels_to_another_process_without_its_connection_or_a_secret(store, seaweedfs):
    store.write("x", b"1")
    travelled = pickle.dumps(store)
    assert seaweedfs.secret.encode() not in travelled
    assert pickle.loads(travelled).read("x") == b"1"
    assert seaweedfs.secret not in repr(store) + repr(store.access) + repr(store.statistics())


def test_a_wrong_secret_is_told_without_telling_it(seaweedfs, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", seaweedfs.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret-of-this-server")
    wrong = ObjectStore(f"s3://{seaweedfs.bucket}/x", access(seaweedfs.endpoint))
    with pytest.raises(StorageError, match="check the credentials") as caught:
        wrong.read("y")
    assert "not-the-secret" not in str(caught.value)


def test_without_credentials_a_signed_store_is_refused(seaweedfs):
    anonymous = ObjectStore(f"s3://{seaweedfs.bucket}/x", Access(endpoint=seaweedfs.endpoint, anonymous=True))
    with pytest.raises(StorageError, match="the store does not allow it"):
        anonymous.read("y")


def test_a_server_that_is_not_there_is_named_after_the_deadline(monkeypatch, seaweedfs):
    allow(monkeypatch, seaweedfs)
    nobody = Access(endpoint="http://127.0.0.1:9", requests=Requests(deadline_seconds=0.5))
    with pytest.raises(StorageError, match=r"could not be asked.*s3://bucket/key"):
        ObjectStore("s3://bucket", nobody).read("key")


def test_plain_http_gives_ranges_and_no_listing(nginx):
    (nginx.folder / "plain.bin").write_bytes(BODY)
    store = ObjectStore(nginx.endpoint, Access())
    assert store.read("plain.bin") == BODY
    plan = plan_reads(np.zeros(1, np.int32), np.array([1000]), np.array([5000]))
    block = np.zeros(plan.block_bytes, np.uint8)
    assert store.begin(["plain.bin"], plan, block).failures() == []
    assert block.tobytes() == BODY[1000:6000]
    with pytest.raises(UsageError, match="cannot list"):
        next(store.list())


def test_a_server_that_gives_no_ranges_is_asked_for_the_whole(rclone, monkeypatch):
    allow(monkeypatch, rclone)
    store = ObjectStore(f"s3://{rclone.bucket}", access(rclone.endpoint))
    store.write("whole.bin", BODY)
    plan = plan_reads(np.zeros(2, np.int32), np.array([1000, 200_000]), np.array([5000, 70]))
    block = np.zeros(plan.block_bytes, np.uint8)
    assert store.begin(["whole.bin"], plan, block).failures() == []
    assert block.tobytes() == BODY[1000:6000] + BODY[200_000:200_070]
