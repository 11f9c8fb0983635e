"""Bare requests: what is asked, what is told of the answer, and that it ends."""

from __future__ import annotations

import socket
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from penstock.bench.endpoint.asking import Answer, Asker
from penstock.bench.endpoint.contract import NotAsked
from penstock.storage.location import Access
from penstock.storage.object import ObjectStore
from penstock.testing.servers.ports import free_ports


def asker(url, access=None, *, seconds=20.0):
    return Asker(ObjectStore(url, access), time.monotonic() + seconds)


def test_the_answer_is_told_as_it_was_sent(nginx):
    (nginx.folder / "asked é").write_bytes(b"0123456789")
    answer = asker(nginx.endpoint).ask("GET", "asked é", headers={"Range": "bytes=2-5"})
    assert (answer.status, answer.body, answer.header("content-range")) == (206, b"2345", "bytes 2-5/10")
    assert ("Content-Range", "bytes 2-5/10") in answer.headers
    assert answer.header("x-not-there") is None
    assert str(answer) == "206, bytes 2-5/10"


def test_of_a_large_body_the_beginning_is_enough(nginx):
    (nginx.folder / "large").write_bytes(bytes(10 * 2**20))
    assert len(asker(nginx.endpoint).ask("GET", "large").body) == 64 * 1024


def test_what_a_server_makes_up_is_not_repeated():
    answer = Answer(206, (("Content-Range", "bytes X-Amz-Signature=00"),))
    assert str(answer) == "206, a strange Content-Range"


def test_no_answer_is_one(nginx):
    (port,) = free_ports(1)
    assert asker(f"http://127.0.0.1:{port}").ask("GET", "x") == Answer(None)


def test_a_server_that_says_nothing_is_left_when_the_time_is_up():
    with socket.create_server(("127.0.0.1", 0)) as server:  # connections wait there; nobody accepts them
        asking = asker(f"http://127.0.0.1:{server.getsockname()[1]}", seconds=0.2)
        assert asking.ask("GET", "x") == Answer(None)
        with pytest.raises(NotAsked, match="the time was up"):
            asking.ask("GET", "x")


def test_what_is_not_signed_cannot_be_forged(nginx):
    with pytest.raises(NotAsked, match="not signed"):
        asker(nginx.endpoint).ask_forged("GET", "x")


def test_urls_are_signed_for_one_request(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not to be seen")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    store = ObjectStore("s3://bucket/folder", Access(region="eu-west-1"))
    url = urlsplit(store.signed("a b%", "GET", 60))
    assert (url.scheme, url.netloc) == ("https", "s3.eu-west-1.amazonaws.com")
    assert url.path == "/bucket/folder/a%20b%25"
    assert parse_qs(url.query)["X-Amz-Expires"] == ["60"]
    listing = urlsplit(store.signed("", "GET", 60, query={"list-type": "2", "prefix": "a b/&?"}))
    asked = parse_qs(listing.query)
    assert listing.path == "/bucket"
    assert (asked["list-type"], asked["prefix"]) == (["2"], ["a b/&?"])
    assert "X-Amz-Signature" in asked
    assert "not" not in listing.query


def test_urls_are_ordinary_where_nothing_is_signed():
    anonymous = ObjectStore("s3://bucket/folder", Access(endpoint="http://host:1/", anonymous=True))
    assert anonymous.signed("a b", "GET", 60) == "http://host:1/bucket/folder/a%20b"
    assert anonymous.signed("", "GET", 60, query={"prefix": "a b/"}) == "http://host:1/bucket?prefix=a%20b%2F"
    assert ObjectStore("http://host/folder").signed("ü", "GET", 60) == "http://host/folder/%C3%BC"
