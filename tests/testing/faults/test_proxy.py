"""Each fault as a client meets it, over a real server; and what the proxy counts, bounds and leaves alone."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from penstock.bench.cost import cpu_seconds
from penstock.errors import InternalError
from penstock.testing.faults import FAULTS, KINDS, FaultProxy, Profile, fault_proxy
from tests.testing.watch import Watch

BODY = bytes(range(256)) * 40
SHORT = 0.15  # for who waits in vain
LONG = 20.0


@pytest.fixture(scope="module")
def server(nginx):
    (nginx.folder / "object").write_bytes(BODY)
    (nginx.folder / "empty").write_bytes(b"")
    return nginx


@contextmanager
def connected(proxy, *, timeout=LONG):
    connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=timeout)
    try:
        yield connection
    finally:
        connection.close()


def ask(connection, path="/object", *, span=(300, 500), method="GET"):
    headers = {} if span is None else {"Range": f"bytes={span[0]}-{span[1] - 1}"}
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def outcome(proxy):
    """What one request comes to, in a word that tells the kinds apart."""
    with connected(proxy, timeout=SHORT) as connection:
        try:
            answer = ask(connection)
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        return answer.status, answer.headers["Content-Range"], body


@contextmanager
def one_fault(server, kind, **changes):
    """A proxy by which every request meets that fault; it is counted when the block is over."""
    with FaultProxy(server.host, server.port, Profile(**{kind: 1.0}, **changes)) as proxy:
        yield proxy
        assert set(proxy.counts.faults) == {kind}
        assert proxy.counts.faults[kind] == sum(proxy.counts.requests.values())


def test_without_faults_nothing_is_changed(server):
    with FaultProxy(server.host, server.port, Profile()) as proxy:
        with connected(server) as direct, connected(proxy) as through:
            for path, span, method in (
                ("/object", (300, 500), "GET"),
                ("/object", None, "GET"),
                ("/object", None, "HEAD"),
                ("/empty", None, "GET"),
                ("/missing", None, "GET"),
                ("/object", (10**6, 10**6 + 1), "GET"),
            ):
                answers = [ask(connection, path, span=span, method=method) for connection in (direct, through)]
                assert answers[0].status == answers[1].status
                assert answers[0].getheaders() == answers[1].getheaders()
                assert answers[0].read() == answers[1].read()
        assert proxy.counts.connections == 1
        assert proxy.counts.requests == {"GET": 5, "HEAD": 1}
        assert proxy.counts.faults == {}
        assert proxy.counts.body_bytes > len(BODY) + 200


def test_silence_never_answers(server):
    with (
        one_fault(server, "silence") as proxy,
        connected(proxy, timeout=SHORT) as connection,
        pytest.raises(TimeoutError),
    ):
        ask(connection)


def test_refusals_come_with_a_status_and_leave_the_connection_alone(server):
    with one_fault(server, "refuse", statuses=(429, 503), retry_after_seconds=2) as proxy:
        answers = []
        with connected(proxy) as connection:
            for _ in range(20):
                answers.append(ask(connection))
                answers[-1].read()
        assert {answer.status for answer in answers} == {429, 503}
        assert {answer.headers["Retry-After"] for answer in answers} == {"2"}
        assert proxy.counts.connections == 1


def test_an_ignored_range_is_in_its_place_in_the_whole(server):
    with one_fault(server, "ignore_range") as proxy, connected(proxy) as connection:
        for _ in range(2):
            answer = ask(connection)
            body = answer.read()
            assert (answer.status, answer.headers["Content-Range"]) == (200, None)
            assert (len(body), body[300:500]) == (len(BODY), BODY[300:500])


def test_a_wrong_range_is_told_of_the_right_bytes(server):
    with one_fault(server, "wrong_range") as proxy, connected(proxy) as connection:
        answer = ask(connection)
        assert answer.status == 206
        assert answer.headers["Content-Range"] != f"bytes 300-499/{len(BODY)}"
        assert answer.read() == BODY[300:500]


def test_a_longer_body_has_a_length_to_match(server):
    with one_fault(server, "lengthen") as proxy, connected(proxy) as connection:
        for _ in range(2):
            body = ask(connection).read()
            assert len(body) > 200
            assert body[:200] == BODY[300:500]


def test_a_truncated_body_ends_early(server):
    with one_fault(server, "truncate") as proxy, connected(proxy) as connection:
        answer = ask(connection, span=None)
        with pytest.raises(http.client.IncompleteRead) as caught:
            answer.read()
        assert BODY.startswith(caught.value.partial)
        assert len(caught.value.partial) < len(BODY)


def test_a_reset_is_a_reset(server):
    with one_fault(server, "reset") as proxy, connected(proxy) as connection, pytest.raises(ConnectionResetError):
        ask(connection).read()


def test_a_stalled_body_begins_and_never_ends(server):
    with one_fault(server, "stall") as proxy, connected(proxy, timeout=SHORT) as connection:
        answer = ask(connection)
        assert answer.status == 206
        with pytest.raises(TimeoutError):
            answer.read()


def test_a_dripping_body_takes_its_time(server):
    with one_fault(server, "drip", drip_bytes_per_second=len(BODY) * 5) as proxy, connected(proxy) as connection:
        begin = time.monotonic()
        assert ask(connection, span=None).read() == BODY
        assert time.monotonic() - begin >= 0.2


def test_a_flipped_byte_is_one_byte(server):
    with one_fault(server, "flip") as proxy, connected(proxy) as connection:
        for _ in range(8):
            body = ask(connection).read()
            assert sum(a != b for a, b in zip(body, BODY[300:500], strict=True)) == 1


def test_the_same_seed_brings_the_same_faults(server):
    profile = Profile(**dict.fromkeys(set(KINDS) - {"silence", "stall", "drip"}, 0.12))
    seen = []
    for seed in (5, 5, 6):
        with FaultProxy(server.host, server.port, profile, seed) as proxy:
            seen.append([outcome(proxy) for _ in range(40)])
            assert len(proxy.counts.faults) >= 5
    assert seen[0] == seen[1] != seen[2]


@pytest.mark.parametrize("name", FAULTS)
def test_who_tries_again_gets_what_was_asked_for_under_any_profile(name, server):
    good = (206, f"bytes 300-499/{len(BODY)}", BODY[300:500])
    with FaultProxy(server.host, server.port, FAULTS[name], seed=1) as proxy:
        for _ in range(3):
            assert any(outcome(proxy) == good for _ in range(10))


def test_other_methods_meet_faults_where_asked_to(server):
    with FaultProxy(server.host, server.port, Profile(refuse=1.0)) as proxy, connected(proxy) as connection:
        answer = ask(connection, method="HEAD", span=None)
        assert (answer.status, answer.read()) == (200, b"")
    with FaultProxy(server.host, server.port, Profile(refuse=1.0, every_method=True, statuses=(500,))) as proxy:
        with connected(proxy) as connection:
            answer = ask(connection, method="HEAD", span=None)
            assert (answer.status, answer.read()) == (500, b"")
            connection.request("PUT", "/object", body=BODY)
            answer = connection.getresponse()
            assert (answer.status, answer.headers["Connection"]) == (500, "close")
        assert proxy.counts.faults == {"refuse": 2}


def test_every_answer_waits_for_the_latency(server):
    profile = Profile(latency_seconds=0.05, tail_seconds=0.01)
    with FaultProxy(server.host, server.port, profile) as proxy, connected(proxy) as connection:
        for _ in range(3):
            begin = time.monotonic()
            ask(connection).read()
            assert time.monotonic() - begin >= 0.05


def together(proxy, count):
    """Fetch the whole object over so many connections at once; the seconds that took."""

    def fetch():
        with connected(proxy) as connection:
            bodies.append(ask(connection, span=None).read())

    bodies = []
    threads = [threading.Thread(target=fetch) for _ in range(count)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bodies == [BODY] * count
    return time.monotonic() - begin


def test_all_connections_together_get_what_the_link_carries(server):
    rate = len(BODY) * 20
    with FaultProxy(server.host, server.port, Profile(link_bytes_per_second=rate)) as proxy:
        assert together(proxy, 4) >= 4 * len(BODY) / rate
    assert proxy.counts.body_bytes == 4 * len(BODY)


def test_each_connection_gets_what_a_connection_may_have(server):
    rate = len(BODY) * 5
    with FaultProxy(server.host, server.port, Profile(connection_bytes_per_second=rate)) as proxy:
        assert together(proxy, 4) >= len(BODY) / rate


def test_a_proxy_ends_with_clients_waiting(server):
    with ExitStack() as stack:
        with FaultProxy(server.host, server.port, Profile(stall=1.0)) as proxy:
            waiting = [stack.enter_context(connected(proxy)) for _ in range(5)]
            answers = [ask(connection) for connection in waiting]
        for answer in answers:
            with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                answer.read()
    assert not [thread for thread in threading.enumerate() if thread.name == "fault proxy"]


def test_in_a_process_of_its_own_it_does_the_same(server):
    profile = Profile(refuse=0.3, flip=0.3)
    with FaultProxy(server.host, server.port, profile, seed=3) as proxy:
        here = [outcome(proxy) for _ in range(12)]
    with fault_proxy(server.host, server.port, profile, seed=3) as elsewhere:
        there = [outcome(elsewhere) for _ in range(12)]
        assert cpu_seconds(elsewhere.pid) > 0
        assert elsewhere.counts is None
        watch = Watch([elsewhere.pid])
    assert watch.all_end(seconds=0)
    assert here == there
    assert elsewhere.counts == proxy.counts


def test_what_goes_wrong_in_a_process_is_told_when_it_ends():
    def send():
        with (
            fault_proxy("127.0.0.1", 9, Profile()) as proxy,
            socket.create_connection((proxy.host, proxy.port), timeout=LONG) as near,
        ):
            near.sendall(b"no request\r\n\r\n")
            assert near.recv(1) == b""

    with pytest.raises(InternalError, match=r"fault proxy failed(?s:.)*DataError: no HTTP"):
        send()


def test_a_proxy_in_a_process_ends_when_whoever_started_it_is_killed(tmp_path):
    code = (
        "import sys\nfrom penstock.testing.faults import Profile, fault_proxy\n"
        "with fault_proxy('127.0.0.1', 9, Profile()) as proxy:\n    print(proxy.pid, flush=True), input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},  # what a killed process leaves behind
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        watch = Watch([int(starter.stdout.readline())])
        starter.kill()
    assert watch.all_end()
