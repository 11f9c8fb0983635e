"""ETags: what is a sum is compared, what only looks like one is found out, and good bytes never fail."""

import asyncio
import hashlib
import logging
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from penstock.errors import StorageError
from penstock.storage.etag import Etags
from penstock.storage.location import Access, Requests
from penstock.storage.object import ObjectStore
from penstock.storage.ranges import plan_reads
from penstock.storage.retry import Garbled

GOOD, BAD, WORSE = b"good bytes", b"good bites", b"gold bytes"
MD5, NONE = hashlib.md5(GOOD).hexdigest(), "0" * 32


def check(etags, body, *tags, name="a.jpg"):
    """Whether bytes pass."""
    try:
        asyncio.run(etags.check(name, set(tags), memoryview(body)))
    except Garbled:
        return False
    return True


@pytest.mark.parametrize("tag", [MD5, f'"{MD5}"', MD5.upper()])
def test_bytes_are_compared_with_an_etag_that_is_their_sum(tag):
    etags = Etags("s3://bucket")
    assert check(etags, GOOD, tag)
    assert not check(etags, BAD, tag)
    assert not check(etags, WORSE, tag), "twice wrong, and not in the same way"
    assert check(etags, GOOD, tag)


@pytest.mark.parametrize("tag", [None, "", f'"{MD5}-3"', f'W/"{MD5}"', MD5[:-1], '"0x8DC4"', "65f1a-1f4"])
def test_an_etag_of_another_form_says_nothing(tag):
    etags = Etags("s3://bucket")
    assert check(etags, BAD, tag)
    assert etags.are_sums


def test_the_same_bytes_twice_are_right_and_the_etags_of_that_store_are_looked_at_no_more(caplog):
    etags = Etags("s3://bucket")
    assert [check(etags, GOOD, NONE), check(etags, GOOD, NONE)] == [False, True]
    assert not etags.are_sums
    assert check(etags, BAD, NONE, name="another.jpg")
    assert [record.message for record in caplog.records] == [
        "ETags of s3://bucket look like MD5s and are none, that of a.jpg for one: bytes are not compared with them"
    ]


def test_an_odd_object_among_many_does_not_end_the_checks(caplog):
    etags = Etags("s3://bucket")
    for number in range(3):
        assert check(etags, GOOD, MD5, name=str(number))
    for name in ("odd", "odder"):
        assert [check(etags, GOOD, NONE, name=name) for _ in range(2)] == [False, True]
    assert not check(etags, BAD, MD5)
    assert len(caplog.records) == 1
    assert [check(etags, GOOD, NONE, name="oddest") for _ in range(2)] == [False, True]
    assert not etags.are_sums
    assert len(caplog.records) == 2


def test_pieces_of_two_objects_are_none():
    assert not check(Etags("s3://bucket"), GOOD, MD5, NONE)


class Web(ThreadingHTTPServer):
    """A web server with one object, an ETag to choose, and answers to damage; counts requests by range."""

    daemon_threads = True

    def __init__(self, body, etag):
        super().__init__(("127.0.0.1", 0), Answer)
        self.body, self.etag, self.asked, self.damaged = body, etag, [], []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        start, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
        stop, size = min(last + 1, len(self.server.body)), len(self.server.body)
        asked = (self.path, start)
        self.server.asked.append(asked)
        data = bytearray(self.server.body[start:stop])
        if asked in self.server.damaged:
            self.server.damaged.remove(asked)
            data[len(self.server.asked)] ^= 1  # never twice the same
        self.send_response(206)
        for name, value in (("ETag", self.server.etag), ("Content-Range", f"bytes {start}-{stop - 1}/{size}")):
            self.send_header(name, value)
        self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def web():
    """Make web servers, which end with the test."""
    made = []

    def serve(body, etag):
        made.append(Web(body, etag))
        threading.Thread(target=made[-1].serve_forever, args=(0.01,)).start()
        return made[-1]

    yield serve
    for one in made:
        one.shutdown()
        one.server_close()


BODY = np.random.default_rng(7).integers(0, 256, 3 * 2**20, np.uint8).tobytes()


def read(store, names, size):
    """Read whole objects: what failed, and what came."""
    count = len(names)
    plan = plan_reads(np.arange(count, dtype=np.int32), np.zeros(count, np.int64), np.full(count, size))
    block = np.zeros(plan.block_bytes, np.uint8)
    return store.begin(names, plan, block, sizes=[size] * count).failures(), block.tobytes()


@pytest.mark.parametrize("size", [50_000, len(BODY)], ids=["one request", "pieces"])
def test_damage_on_the_way_is_mended_wherever_it_is(web, size):
    body = BODY[:size]
    server = web(body, f'"{hashlib.md5(body).hexdigest()}"')
    server.damaged = [("/a", 0), ("/a", 2 * 2**20), ("/a", 0)]
    store = ObjectStore(server.url)
    failures, found = read(store, ["a"], size)
    assert (failures, found) == ([], body)
    assert store.statistics().retries == 2
    assert len(server.asked) == (3 if size == 50_000 else 9)


def test_objects_whose_etags_are_no_sums_are_read_without_a_failure_and_soon_without_a_second_request(web, caplog):
    server = web(BODY[:9000], f'"{NONE}"')
    store = ObjectStore(server.url)
    with caplog.at_level(logging.WARNING, "penstock"):
        for names in (["a", "b", "c"], ["d", "e"]):
            failures, found = read(store, names, 9000)
            assert (failures, found) == ([], BODY[:9000] * len(names))
    assert {path for path, _ in server.asked[-2:]} == {"/d", "/e"}
    assert len(server.asked) <= 3 * 2 + 2
    assert len(caplog.records) == 1


def test_damage_every_time_is_an_error_in_time(web):
    server = web(BODY[:9000], f'"{hashlib.md5(BODY).hexdigest()}"')
    server.body = Shifting()
    requests = Requests(attempt_seconds=1.0, deadline_seconds=0.5)
    store = ObjectStore(server.url, Access(requests=requests))
    (failure,), _ = read(store, ["a"], 9000)
    assert isinstance(failure.error, StorageError)
    assert re.search(r"the store sent other bytes than those .*/a", str(failure.error)), failure.error


class Shifting:
    """Bytes that are others each time."""

    def __init__(self):
        self.number = 0

    def __len__(self):
        return 9000

    def __getitem__(self, part):
        self.number += 1
        return BODY[part.start + self.number : part.stop + self.number]


def test_what_has_sums_of_its_own_is_not_compared(web):
    server = web(BODY[:9000], f'"{NONE}"')
    store = ObjectStore(server.url, compares=False)
    failures, found = read(store, ["a", "b"], 9000)
    assert (failures, found, len(server.asked)) == ([], BODY[:9000] * 2, 2)
