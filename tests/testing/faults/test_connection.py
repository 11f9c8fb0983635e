"""Whatever passes through that is not a fault: signatures, bodies however they are framed, connections as they end."""

from __future__ import annotations

import dataclasses
import http.client
import socket
import threading
from contextlib import contextmanager, suppress

import pytest
from botocore.exceptions import ClientError

from penstock.errors import DataError
from penstock.testing.faults import FaultProxy, Profile
from penstock.testing.faults.wire import BUFFER_BYTES
from penstock.testing.servers.ports import HOST, free_ports
from tests.testing.oracle import client

BODY = bytes(range(256)) * 800
SECONDS = 20.0


@pytest.mark.parametrize("name", ["seaweedfs", "rclone"])
def test_signatures_hold_through_the_proxy(name, request):
    server = request.getfixturevalue(name)
    with FaultProxy(server.host, server.port, Profile()) as proxy:
        through = dataclasses.replace(server, port=proxy.port)
        s3 = client(through)
        place = {"Bucket": through.bucket, "Key": "through the proxy/a b"}
        s3.put_object(**place, Body=BODY)
        assert s3.get_object(**place)["Body"].read() == BODY
        assert s3.get_object(**place, Range="bytes=300-499")["Body"].read() == BODY[300:500]
        for number in range(30):  # an answer that is long enough to come in chunks
            s3.put_object(Bucket=through.bucket, Key=f"through the proxy/{number}", Body=b"")
        assert s3.list_objects_v2(Bucket=through.bucket, Prefix="through the proxy/")["KeyCount"] == 31
        s3.delete_object(**place)
        with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
            client(through, aws_secret_access_key="guessed").list_objects_v2(Bucket=through.bucket)
        assert proxy.counts.requests == {"PUT": 31, "GET": 4, "DELETE": 1}
        assert proxy.counts.faults == {}


@contextmanager
def scripted(*connections):
    """A proxy before a server that follows a script: for each connection, what it waits for and what it says, in turn.

    It closes a connection when the script of it is over; then `proxy.told` has what it was told, by connection.
    """

    def serve():
        for script in connections:
            accepted, _ = listener.accept()
            with accepted:
                accepted.settimeout(SECONDS)
                told = b""
                for mark, says in script:
                    known = len(told)
                    while mark not in told[known:]:
                        received = accepted.recv(1 << 16)
                        if not received:
                            return
                        told += received
                    accepted.sendall(says)
            with closed:
                proxy.told.append(told)
                closed.notify_all()

    closed = threading.Condition()
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(SECONDS)
        thread = threading.Thread(target=serve)
        proxy = FaultProxy(HOST, listener.getsockname()[1], Profile())
        proxy.told, proxy.closed = [], closed
        with proxy:
            thread.start()
            yield proxy
            thread.join(SECONDS)
        assert not thread.is_alive()


def asked(proxy):
    return http.client.HTTPConnection(proxy.host, proxy.port, timeout=SECONDS)


END = b"\r\n\r\n"
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"


def test_answers_in_chunks_pass_and_the_connection_stays():
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nfour\r\n3\r\n-te\r\n0\r\nTrailer: x\r\n\r\n"
    )
    with scripted([(END, chunked), (END, FINE)]) as proxy:
        connection = asked(proxy)
        for expected in (b"four-te", b"fine"):
            connection.request("GET", "/")
            assert connection.getresponse().read() == expected
        connection.close()
    assert proxy.counts.connections == len(proxy.told) == 1


def test_requests_in_chunks_pass_and_whoever_waits_to_be_told_to_go_on_is_told():
    with (
        scripted([(END, b"HTTP/1.1 100 Continue\r\n\r\n"), (b"0\r\n\r\n", FINE), (END, FINE)]) as proxy,
        socket.create_connection((proxy.host, proxy.port), timeout=SECONDS) as near,
        near.makefile("rb") as said,
    ):
        near.sendall(b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
        assert said.readline() + said.readline() == b"HTTP/1.1 100 Continue\r\n\r\n"
        near.sendall(b"3\r\nabc\r\n0\r\n\r\n")
        assert said.read(len(FINE)) == FINE
        near.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert said.read(len(FINE)) == FINE
    assert b"3\r\nabc\r\n0\r\n\r\nGET" in proxy.told[0]


def test_an_answer_of_no_length_ends_with_its_connection():
    with scripted([(END, b"HTTP/1.1 200 OK\r\n\r\nuntil the end")]) as proxy:
        connection = asked(proxy)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"until the end"
        connection.close()


def test_a_server_that_closed_an_idle_connection_is_connected_to_again():
    with scripted([(END, FINE)], [(END, FINE)]) as proxy:
        connection = asked(proxy)
        for times in (1, 2):
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"fine"
            with proxy.closed:
                assert proxy.closed.wait_for(lambda times=times: len(proxy.told) == times, SECONDS)
        connection.close()
    assert proxy.counts.connections == 1


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"])
def test_a_server_that_goes_away_is_seen_to_go(says):
    with scripted([(END, says)]) as proxy:
        connection = asked(proxy)
        connection.request("GET", "/")
        with pytest.raises((http.client.IncompleteRead, http.client.RemoteDisconnected)):
            connection.getresponse().read()
        connection.close()


def test_a_server_that_is_not_there_is_seen_not_to_be():
    with FaultProxy(HOST, free_ports(1)[0], Profile()) as proxy:
        connection = asked(proxy)
        connection.request("GET", "/")
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            connection.getresponse()
        connection.close()


def test_a_connection_ends_with_the_request_that_says_so():
    with (
        scripted([(END, FINE)]) as proxy,
        socket.create_connection((proxy.host, proxy.port), timeout=SECONDS) as near,
        near.makefile("rb") as said,
    ):
        near.sendall(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert said.read() == FINE  # to the end


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01 hello\r\n\r\n", b"x" * (BUFFER_BYTES + 1)])
def test_what_is_no_http_ends_its_connection_and_is_told_when_the_proxy_ends(garbage):

    def send():
        with (
            FaultProxy(HOST, free_ports(1)[0], Profile()) as proxy,
            socket.create_connection((proxy.host, proxy.port), timeout=SECONDS) as near,
            suppress(ConnectionResetError),  # of a connection closed with something unread
        ):
            near.sendall(garbage)
            assert near.recv(1) == b""

    with pytest.raises(DataError, match="no HTTP"):
        send()
