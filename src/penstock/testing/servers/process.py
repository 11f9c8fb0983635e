"""One server process: found, started, waited for, ended.

A server is a command in a session of its own, so that Ctrl-C at a terminal reaches whoever started the server and not
the server: it must live until its user is done with it. What it says goes into a file of its folder, and the last lines
of that into the error when it does not come to answer.

Ending is by process id: SIGTERM, and after a deadline SIGKILL. The process group is the server's alone, so whoever is
left in it afterwards is a worker without its master; it is killed, too, and that it ended is checked. It would hold a
port, and the processor, for the rest of the machine's life.
"""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench.cost import processes_of_group
from penstock.errors import StalledError, StorageError, UsageError
from penstock.testing.servers import bound
from penstock.testing.servers.ports import HOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["LOG", "program", "running", "status"]

LOG = "said"  # the file in a server's folder that has what it said

START_SECONDS = 60.0  # a loaded machine; on an idle one it is one or two
END_SECONDS = 15.0
KILL_SECONDS = 5.0
POLL_SECONDS = 0.01
REQUEST_SECONDS = 5.0
LINES_KEPT = 12  # of what a server said


def program(package: str, name: str) -> str:
    """Find the executable file `name` that `package` brought along; its path."""
    hint = f"python -m pip install {package}"
    try:
        installed = files(package)
    except PackageNotFoundError:
        raise UsageError("a server's program is not installed", expected=package, hint=hint) from None
    for file in installed or []:
        if file.name == name:
            path = str(file.locate())
            if os.access(path, os.X_OK):
                return path
    raise UsageError(f"{package} has no executable '{name}' for this machine", hint=f"{hint} --force-reinstall")


def status(port: int, path: str) -> int | None:
    """Ask for `path` without any credentials; the status of the answer, None when there is none."""
    connection = http.client.HTTPConnection(HOST, port, timeout=REQUEST_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


@contextmanager
def running(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str] | None = None, answers: Callable[[], bool]
) -> Iterator[int]:
    """Run `command` in `folder` for as long as the block lasts, once it `answers`; yields its process id.

    Of the environment it has only what is given, so that no setting of the machine's user reaches it.
    """
    log = folder / LOG
    with log.open("wb") as said:
        process = subprocess.Popen(  # noqa: S603 programs of ours, with arguments made here
            [sys.executable, "-I", "-S", bound.__file__, str(os.getpid()), *command],
            cwd=folder,
            env={"PATH": os.defpath, "HOME": str(folder), "TMPDIR": str(folder), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_for(answers, process, Path(command[0]).name, log)
        yield process.pid
    finally:
        _end(process)


def _wait_for(answers: Callable[[], bool], process: subprocess.Popen[bytes], name: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers():
        if process.poll() is not None:
            raise StorageError(f"{name} ended before it answered", got=f"code {process.returncode}", hint=_tail(log))
        if time.monotonic() > deadline:
            raise StalledError(f"{name} does not answer", got=f"{START_SECONDS:.0f} s of silence", hint=_tail(log))
        time.sleep(POLL_SECONDS)


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-LINES_KEPT:]
    return "\n".join(["the last it said was:", *lines]) if lines else "it said nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(KILL_SECONDS)
    deadline = time.monotonic() + KILL_SECONDS
    while left := processes_of_group(process.pid):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise StalledError("processes of a server do not end", got=f"{left} after SIGKILL")
        time.sleep(POLL_SECONDS)
