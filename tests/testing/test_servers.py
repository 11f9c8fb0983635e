"""The servers that other tests lean on: they answer as promised, keep to themselves, and end when they should."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from penstock import testing
from penstock.bench.cost import cpu_seconds, processes_below
from penstock.errors import StalledError, StorageError, UsageError
from penstock.testing.servers import process
from penstock.testing.servers.ports import free_ports
from tests.testing.oracle import client
from tests.testing.watch import Watch

BODY = bytes(range(256)) * 40


def test_seaweedfs_stores_lists_and_cuts_out(seaweedfs):
    s3 = client(seaweedfs)
    for name in ("b", "a", "c/d e"):
        s3.put_object(Bucket=seaweedfs.bucket, Key=f"stores/{name}", Body=BODY)
    listed = s3.list_objects_v2(Bucket=seaweedfs.bucket, Prefix="stores/")
    assert [(entry["Key"], entry["Size"]) for entry in listed["Contents"]] == [
        ("stores/a", len(BODY)),
        ("stores/b", len(BODY)),
        ("stores/c/d e", len(BODY)),
    ]
    part = s3.get_object(Bucket=seaweedfs.bucket, Key="stores/c/d e", Range="bytes=300-499")
    assert part["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert part["ContentRange"] == f"bytes 300-499/{len(BODY)}"
    assert part["Body"].read() == BODY[300:500]


@pytest.mark.parametrize("name", ["seaweedfs", "rclone"])
def test_who_does_not_know_the_secret_is_refused(name, request):
    server = request.getfixturevalue(name)
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        client(server, aws_secret_access_key="guessed").list_objects_v2(Bucket=server.bucket)
    assert server.secret not in repr(server)
    for pid in processes_below(server.pid):
        assert server.secret not in Path(f"/proc/{pid}/cmdline").read_text()


def test_rclone_answers_a_range_with_200(rclone):
    (rclone.folder / rclone.bucket / "put into the folder").write_bytes(BODY)
    s3 = client(rclone)
    part = s3.get_object(Bucket=rclone.bucket, Key="put into the folder", Range="bytes=300-499")
    assert part["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert part["ContentRange"] == f"bytes 300-499/{len(BODY)}"
    assert part["Body"].read() == BODY[300:500]


def test_nginx_serves_ranges_of_files_that_came_after_it(nginx):
    (nginx.folder / "later").write_bytes(BODY)
    connection = http.client.HTTPConnection(nginx.host, nginx.port, timeout=10)
    connection.request("GET", "/later", headers={"Range": "bytes=300-499"})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Content-Range"]) == (206, f"bytes 300-499/{len(BODY)}")
    assert answer.read() == BODY[300:500]
    connection.request("GET", "/later")  # over the same connection
    assert connection.getresponse().read() == BODY
    connection.close()


def test_nginx_serves_a_folder_of_any_name(tmp_path):
    folder = tmp_path / "a $host \"b\" {c}; 'd' ä"
    folder.mkdir()
    (folder / "file").write_bytes(b"here")
    with testing.nginx(folder) as server:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
        connection.request("GET", "/file")
        assert connection.getresponse().read() == b"here"
        connection.close()
    with pytest.raises(UsageError, match="serves a folder"), testing.nginx(folder / "file"):
        pass


def test_any_number_run_at_once_and_all_their_processes_end(tmp_path):
    with ExitStack() as stack:
        makers = (testing.seaweedfs, testing.rclone, lambda: testing.nginx(tmp_path)) * 2
        servers = [stack.enter_context(make()) for make in makers]
        assert len({server.port for server in servers}) == 6
        pids = [pid for server in servers for pid in processes_below(server.pid)]
        assert len(pids) >= 8  # nginx has workers
        watch = Watch(pids)
        for server in servers:
            spent = cpu_seconds(server.pid)
            assert spent is not None
            assert spent >= 0
        assert cpu_seconds(servers[0].pid) > 0  # SeaweedFS takes a while to start
        s3 = client(servers[0])
        s3.put_object(Bucket=servers[0].bucket, Key="one", Body=b"1")
        assert "Contents" not in client(servers[3]).list_objects_v2(Bucket=servers[3].bucket)
    assert watch.all_end(seconds=0)
    assert not any(server.folder.exists() for server in servers if isinstance(server, testing.S3Server))


def test_servers_listen_on_loopback_alone(seaweedfs, nginx, rclone):
    listening = "0A"
    for server in (seaweedfs, nginx, rclone):
        sockets = {
            os.readlink(link)
            for pid in processes_below(server.pid)
            for link in Path(f"/proc/{pid}/fd").iterdir()
            if link.is_symlink()
        }
        rows = [
            line.split()
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/{server.pid}/net/{table}").read_text().splitlines()[1:]
        ]
        addresses = {row[1].split(":")[0] for row in rows if row[3] == listening and f"socket:[{row[9]}]" in sockets}
        assert addresses == {"0100007F"}, server  # 127.0.0.1, as the kernel writes it


def test_a_server_ends_when_whoever_started_it_is_killed(tmp_path):
    code = (
        "import sys\nfrom penstock.testing import nginx\n"
        "with nginx(sys.argv[1]) as server:\n    print(server.pid, flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path],
        env={**os.environ, "TMPDIR": str(tmp_path)},  # what a killed process leaves behind
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        pids = processes_below(int(starter.stdout.readline()))
        assert len(pids) >= 2
        watch = Watch(pids)
        starter.kill()
    assert watch.all_end()


def test_a_worker_left_behind_by_its_server_is_ended_too(tmp_path):
    with testing.nginx(tmp_path) as server:
        watch = Watch(processes_below(server.pid))
        os.kill(server.pid, signal.SIGKILL)
    assert watch.all_end(seconds=0)


def test_a_server_that_ends_or_says_nothing_is_an_error_with_its_last_words(tmp_path, monkeypatch):
    words = [sys.executable, "-c", "print('no room'); raise SystemExit(3)"]
    with (
        pytest.raises(StorageError, match=r"ended before it answered: got code 3(?s:.)*no room"),
        process.running(words, folder=tmp_path, answers=lambda: False),
    ):
        pass
    monkeypatch.setattr(process, "START_SECONDS", 0.1)
    silent = [sys.executable, "-c", "import signal; signal.pause()"]
    with (
        pytest.raises(StalledError, match=r"does not answer(?s:.)*it said nothing"),
        process.running(silent, folder=tmp_path, answers=lambda: False),
    ):
        pass


def test_a_server_that_will_not_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "END_SECONDS", 0.1)
    deaf = "import signal as s, pathlib; s.signal(s.SIGTERM, s.SIG_IGN); pathlib.Path('up').touch(); s.pause()"
    command = [sys.executable, "-c", deaf]
    with process.running(command, folder=tmp_path, answers=(tmp_path / "up").exists) as pid:
        watch = Watch([pid])
    assert watch.all_end(seconds=0)


def test_a_missing_program_is_an_error_that_says_what_to_install():
    with pytest.raises(UsageError, match="pip install no-such-server-bin"):
        process.program("no-such-server-bin", "serve")
    with pytest.raises(UsageError, match="boto3 has no executable 'serve'"):
        process.program("boto3", "serve")


def test_ports_are_distinct_and_below_those_of_outgoing_connections():
    ports = free_ports(50, also_offset=10_000)
    assert len(set(ports)) == 50
    assert all(port > 1024 and port + 10_000 < 32_768 for port in ports)
