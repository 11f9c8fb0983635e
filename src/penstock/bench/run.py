"""One task in a process of its own: ask, listen how far it is, wait for the answer, and end whatever is left of it.

The child has a session of its own, so that it and everything it starts can be ended together: loaders leave workers
behind. A child past its deadline is killed, and so is one when the race is interrupted.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["DEADLINE_SECONDS", "ask", "command"]

DEADLINE_SECONDS = 600.0
LINES_KEPT = 12  # of a failed child's stderr
COLLECT_SECONDS = 10.0  # to read what a killed child has written
START = Path(__file__).with_name("start.py")


def command(interpreter: Path | None = None) -> list[str]:
    """Say how a child is started, around its request: in this environment, or by an interpreter without penstock."""
    if interpreter is None:
        return [sys.executable, str(START), "", "penstock"]
    return [str(interpreter), str(START), "", "alone"]


def ask(
    request: Mapping[str, Any],
    *,
    started_by: Sequence[str] | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    progress: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Have a child do one task; its answer with a status: "ok", "refused", "failed" or "hung"."""
    line = [word or json.dumps(request) for word in started_by or command()]
    begin = time.monotonic()
    answer: dict[str, Any] | None = None
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        with subprocess.Popen(  # noqa: S603 an interpreter, with arguments made here
            line, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True
        ) as child:
            status = "ok"
            try:
                answer = _listen(child, begin + deadline_seconds, progress)
                child.wait(timeout=max(0.1, begin + deadline_seconds - time.monotonic()))
            except (subprocess.TimeoutExpired, TimeoutError):
                status = "hung"
            finally:
                _end_group(child.pid)
            child.wait(timeout=COLLECT_SECONDS)
        if status == "ok" and child.returncode == 0 and answer is not None:
            if "refused" in answer:
                return {"status": "refused", "message": answer.pop("refused"), **answer}
            return {"status": "ok", **answer}
        said.seek(0)
        words = [line for line in said.read().splitlines() if line.strip()][-LINES_KEPT:]
    if status == "ok":
        status = "failed"
        if child.returncode < 0 or not words:
            words.append(_ending(child.returncode))
    else:
        words.append(f"killed after {time.monotonic() - begin:.0f} s")
    return {"status": status, "message": "\n".join(words)}


def _ending(code: int) -> str:
    """Say how a child ended that did not answer."""
    if code >= 0:
        return f"ended with code {code}"
    told = " (out of memory, perhaps)" if -code == signal.SIGKILL else ""
    return f"ended by signal {-code}{told}"


def _listen(
    child: subprocess.Popen[str], deadline: float, progress: Callable[[Mapping[str, Any]], None]
) -> dict[str, Any] | None:
    """Read what the child says until it answers, or its output ends; TimeoutError past the deadline."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    out: IO[str] | None = child.stdout
    reader = threading.Thread(target=_read, args=(out, lines), daemon=True)
    reader.start()
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            return None
        said = json.loads(line)
        if "answer" in said:
            answer: dict[str, Any] = said["answer"]
            return answer
        progress(said["progress"])


def _read(out: IO[str] | None, lines: queue.SimpleQueue[str | None]) -> None:
    """Hand lines on, and None at the end."""
    try:
        for line in out or ():
            lines.put(line)
    except ValueError:  # closed meanwhile: nobody listens any more
        return
    finally:
        lines.put(None)


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # nobody left (macOS says EPERM for a group of zombies)
