"""A race: every peer once per round, in an order drawn anew each round, each run in a process of its own.

Rounds are the unit of comparison. Within a round the peers meet the same state of the machine, so the ratio of two
rates of the same round is what is compared, and a machine that gets slower over an hour hurts nobody in particular.
Naming a peer twice races it against itself: its ratio to its twin is what this race cannot tell from nothing.

A failure is a row, never a gap: "failed" with the last lines of what the child said, "hung" when it passed the deadline
(its whole process group is killed: loaders leave workers behind).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from penstock.bench.machine import describe
from penstock.bench.peers import PEERS
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.bench.case import Case

__all__ = ["ask", "race", "schedule"]

FORMAT = 1  # of the result: a reader refuses another number
DEADLINE_SECONDS = 600.0
LINES_KEPT = 12  # of a failed child's stderr
COLLECT_SECONDS = 10.0  # to read what a killed child has written


def twins(names: Sequence[str]) -> list[str]:
    """Tell apart peers named more than once: the second "penstock" becomes "penstock#2"."""
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return told


def schedule(names: Sequence[str], rounds: int, seed: int) -> list[list[str]]:
    """Draw the order of the peers in each round."""
    draws = random.Random(seed)  # noqa: S311 an order of work, not a secret
    return [draws.sample(list(names), len(names)) for _ in range(rounds)]


def ask(task: str, peer: str, case: Case, *, deadline_seconds: float = DEADLINE_SECONDS) -> dict[str, Any]:
    """Have a child do one task for one peer; its answer with a status: "ok", "failed" or "hung"."""
    request = json.dumps({"task": task, "peer": peer, "case": case.to_json()})
    command = [sys.executable, "-m", "penstock.bench.child", request]
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        # A session of its own, so that the child and everything it starts can be ended together.
        with subprocess.Popen(  # noqa: S603 the interpreter itself, with arguments made here
            command, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True
        ) as child:
            status = "ok"
            try:
                out, _ = child.communicate(timeout=deadline_seconds)
            except subprocess.TimeoutExpired:
                status = "hung"
                out = ""
            finally:
                _end_group(child.pid)
            if status == "hung":
                child.communicate(timeout=COLLECT_SECONDS)
        if status == "ok" and child.returncode == 0:
            answer: dict[str, Any] = json.loads(out)
            return {"status": "ok", **answer}
        said.seek(0)
        words = [line for line in said.read().splitlines() if line.strip()][-LINES_KEPT:]
    if status == "ok":
        status = "failed"
        words = words or [f"ended with code {child.returncode} and no word"]
    else:
        words.append(f"killed after {time.monotonic() - begin:.0f} s")
    return {"status": status, "message": "\n".join(words)}


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # nobody left (macOS says EPERM for a group of zombies)


def race(
    case: Case,
    peers: Sequence[str],
    *,
    rounds: int = 5,
    seed: int = 0,
    deadline_seconds: float = DEADLINE_SECONDS,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Prepare every peer's form of the data, then race `rounds` rounds; the result as plain values, ready for JSON.

    `progress` is told in words what happens next.
    """
    unknown = [name for name in peers if name not in PEERS]
    if unknown:
        raise UsageError("no such peer", got=", ".join(unknown), expected=f"some of {', '.join(PEERS)}")
    if rounds < 1 or not peers:
        raise UsageError("race", got=f"{len(peers)} peers, {rounds} rounds", expected="at least one of each")
    tell = progress or (lambda _: None)
    files = case.files()
    prepared, runs = {}, []
    machine = describe()
    for name in dict.fromkeys(peers):
        tell(f"preparing {name}")
        prepared[name] = ask("prepare", name, case, deadline_seconds=deadline_seconds)
    for number, position, name in _runs(twins(peers), rounds, seed):
        peer = name.partition("#")[0]
        tell(f"round {number + 1} of {rounds}: {name}")
        if prepared[peer]["status"] == "ok":
            answer = ask("time", peer, case, deadline_seconds=deadline_seconds)
        else:
            answer = {"status": prepared[peer]["status"], "message": prepared[peer]["message"]}
        runs.append({"round": number, "position": position, "peer": name, **answer})
    return {
        "format": FORMAT,
        "kind": "race",
        "command": _command(case, peers, rounds, seed),
        # Where the data lies is this machine's business: a published result has its name only.
        "case": {**case.to_json(), "data": os.path.basename(case.data.rstrip("/")), "forms": ""},  # noqa: PTH119 a string
        "data": {"samples": len(files), "bytes": sum(os.stat(path).st_size for path, _ in files)},  # noqa: PTH116 strings
        "machine": machine,
        "rounds": rounds,
        "seed": seed,
        "peers": twins(peers),
        "prepared": prepared,
        "runs": runs,
        "agreement": _agreement(runs),
    }


def _command(case: Case, peers: Sequence[str], rounds: int, seed: int) -> str:
    """Say how to do it again."""
    given = {"peers": ",".join(peers), "rounds": rounds, "epochs": case.epochs, "workers": case.workers}
    given |= {"batch-size": case.batch_size, "size": case.size, "seed": seed}
    name = os.path.basename(case.data.rstrip("/"))  # noqa: PTH119 a string
    return f"penstock race {name} " + " ".join(f"--{option} {value}" for option, value in given.items())


def _runs(names: Sequence[str], rounds: int, seed: int) -> Iterator[tuple[int, int, str]]:
    for number, order in enumerate(schedule(names, rounds, seed)):
        for position, name in enumerate(order):
            yield number, position, name


def _agreement(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Compare what the peers delivered: one digest of ids for all, and mean levels near each other.

    Each run has already proved that every epoch held every sample once. Levels differ by the random crops; red and blue
    swapped, or images left black, would show here.
    """
    delivered = [run for run in runs if run["status"] == "ok"]
    levels = [run["levels"] for run in delivered if run["levels"]]
    spread = [round(max(channel) - min(channel), 2) for channel in zip(*levels, strict=True)] if levels else None
    return {"digests": sorted({run["digest"] for run in delivered}), "level_spread": spread}
