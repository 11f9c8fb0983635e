"""Heads and the lengths of bodies."""

from __future__ import annotations

import pytest

from penstock.errors import DataError
from penstock.testing.faults.message import Head, number_in

GET = b"GET /a%20b?x=1 HTTP/1.1\r\nHost: here:1\r\nRange:bytes=0-9\r\nX-Range: no\r\n\r\n"


def test_headers_are_found_whatever_their_case_and_only_by_their_whole_name():
    head = Head(GET)
    assert (head.method, head.first) == ("GET", (b"GET", b"/a%20b?x=1", b"HTTP/1.1"))
    assert (head.value(b"host"), head.value(b"range")) == (b"here:1", b"bytes=0-9")
    assert head.value(b"ange") is None
    assert Head(b"GET / HTTP/1.1\r\n\r\n").value(b"host") is None


def test_a_changed_head_differs_where_it_was_to_and_nowhere_else():
    changed = Head(GET).replaced(b"range", b"bytes=1-2")
    assert changed == GET.replace(b"Range:bytes=0-9", b"range: bytes=1-2")
    answer = Head(b"HTTP/1.1 206 Partial Content\r\nA: b\r\nContent-Range: x\r\n\r\n")
    assert answer.replaced(b"a", b"c", status=b"200 OK", without=b"content-range") == b"HTTP/1.1 200 OK\r\na: c\r\n\r\n"


@pytest.mark.parametrize(
    ("headers", "method", "status", "length"),
    [
        (b"Content-Length: 12", "GET", 200, 12),
        (b"Content-Length: 12", "HEAD", 200, 0),
        (b"Content-Length: 12", "GET", 304, 0),
        (b"Transfer-Encoding: Chunked", "GET", 200, "chunked"),
        (b"Server: x", "GET", 200, "until close"),
        (b"Server: x", "DELETE", 204, 0),
    ],
)
def test_the_body_of_an_answer_is_as_long_as_http_says(headers, method, status, length):
    assert Head(b"HTTP/1.1 %d Reason\r\n%b\r\n\r\n" % (status, headers)).answer_body(method) == length


def test_a_request_without_a_length_has_no_body():
    assert Head(GET).request_body() == 0
    assert Head(b"PUT / HTTP/1.1\r\nContent-Length: 7\r\n\r\n").request_body() == 7
    assert Head(b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").request_body() == "chunked"


def test_what_is_no_http_is_refused_by_name():
    for raw in (b"\r\n\r\n", b"\x16\x03\x01 hello\r\n\r\n", b"GET /\r\n\r\n"):
        with pytest.raises(DataError, match="no HTTP"):
            Head(raw)
    with pytest.raises(DataError, match="no number of HTTP"):
        Head(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n").answer_body("GET")
    with pytest.raises(DataError, match="no number of HTTP"):
        number_in(b"-5", 16)


def test_connections_end_with_the_message_that_says_so():
    assert Head(b"GET / HTTP/1.1\r\nConnection: Close\r\n\r\n").closes
    assert not Head(GET).closes
