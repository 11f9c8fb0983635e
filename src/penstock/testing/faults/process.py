"""The proxy in a process of its own, so that it takes no time from the interpreter that is measured against it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import InternalError
from penstock.testing.faults.proxy import Counts
from penstock.testing.servers.process import LOG, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.testing.faults.profile import Profile

__all__ = ["ProxyProcess", "fault_proxy"]


@dataclass(slots=True)
class ProxyProcess:
    """A proxy that runs elsewhere."""

    host: str
    port: int
    pid: int
    counts: Counts | None = None
    """What it has done, once the block is over."""

    @property
    def endpoint(self) -> str:
        """The URL of the proxy."""
        return f"http://{self.host}:{self.port}"


@contextmanager
def fault_proxy(upstream_host: str, upstream_port: int, profile: Profile, *, seed: int = 0) -> Iterator[ProxyProcess]:
    """Run a `FaultProxy` in a process of its own for as long as the block lasts."""
    command = [sys.executable, "-m", "penstock.testing.faults", upstream_host, str(upstream_port)]
    command += ["--profile", profile.to_json(), "--seed", str(seed)]
    with tempfile.TemporaryDirectory(prefix="proxy-") as temporary:
        said = Path(temporary) / LOG
        environment = dict(os.environ)  # it is penstock again, to be found where it was found here

        def answers() -> bool:
            return b"\n" in said.read_bytes()

        with running(command, folder=Path(temporary), environment=environment, answers=answers) as pid:
            proxy = ProxyProcess(pid=pid, **json.loads(said.read_text().splitlines()[0]))
            yield proxy
        _, *lines = said.read_text(errors="replace").splitlines()
        if len(lines) != 1:  # its counts and nothing else, unless something went wrong in it
            raise InternalError("the fault proxy failed", hint="\n".join(["it said:", *lines]))
        proxy.counts = Counts(**json.loads(lines[0]))
