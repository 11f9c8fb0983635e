"""One peer in a process of its own: prepare its form of the data, or time it; the answer is JSON on stdout.

    python src/penstock/bench/start.py '{"task": "time", "peer": "torchvision", "case": {…}, "cpus": 2}' penstock

A peer is a module that gives its epochs one after another; an epoch is an iterable of (images, ids). `timing` has what
is done with them.

A line of JSON says how far it is, the last one is the answer. Libraries like to print. So these lines go to the stdout
that the parent gave, and before anything is imported, stdout is pointed at stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.bench import cache_state, layers
from penstock.bench.case import Case
from penstock.bench.machine import allowed_cpus, versions
from penstock.bench.peers import Peer, load
from penstock.bench.timing import time_peer
from penstock.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["prepare"]


def prepare(peer: Peer, case: Case) -> dict[str, Any]:
    """Make the peer's own form of the data where it needs one and has none; its size, and the seconds that took."""
    begin = time.perf_counter()
    form, is_new = peer.prepare(case)
    seconds = time.perf_counter() - begin
    if form is None:
        return {"form": None}
    paths = cache_state.files_below(form)
    stored_bytes = sum(path.stat().st_size for path in paths)
    newest = max(os.stat(path).st_mtime_ns for path, _ in case.files())  # noqa: PTH116 strings
    if not is_new and max(path.stat().st_mtime_ns for path in paths) < newest:
        raise DataError(
            "the peer's form of the data is older than the data",
            file=form.name,
            hint="remove it: it is made again",
        )
    return {"form": form.name, "form_bytes": stored_bytes, "made_seconds": seconds if is_new else None}


def _answer(request: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    if request["task"] == "layer":
        layer = layers.load(request["layer"])
        measured = layer.measure(layer.Settings(**request["settings"]), tell)
        if measured.get("cache") is not None:
            measured["cache"] = asdict(measured["cache"])
        return {"label": layer.LABEL, **measured}
    case = Case.from_json(request["case"])
    if request.get("cpus", 0) > len(allowed_cpus()):  # `start` has bound this process to as many as there are
        raise UsageError("more workers than CPUs", got=request["cpus"], expected=f"at most {len(allowed_cpus())}")
    peer = load(request["peer"])
    about = {"label": peer.LABEL, "settings": peer.SETTINGS, "versions": versions(peer.DISTRIBUTIONS)}
    begin = time.perf_counter()
    if refusal := _refusal(peer, case, request["peer"]):
        return {**about, "refused": refusal}
    imported = time.perf_counter() - begin
    if request["task"] == "prepare":
        rehearsed = request.get("rehearsal")
        if rehearsed and getattr(peer, "DELIVERS", "batches") == "batches":
            peer.prepare(Case.from_json(rehearsed))
        return {**about, **prepare(peer, case)}
    rehearsed = Case.from_json(request["rehearsal"]) if request.get("rehearsal") else None
    timed = time_peer(peer, case, rehearsal_case=rehearsed, group=request.get("group"), tell=tell)
    if "values" in timed:
        timed["values"]["import_seconds"] = imported
    return {**about, **timed}


def _refusal(peer: Peer, case: Case, name: str) -> str | None:
    """Say why this cannot be done here; None where it can."""
    for module in getattr(peer, "MODULES", ()):
        try:
            import_module(module)
        except ImportError as error:  # noqa: PERF203 one of a few
            return f"{error}; penstock race --setup {name} makes an environment that has it"
    if case.model and "penstock.torch" not in sys.modules and not _has_penstock():
        return "a model's step needs penstock in the peer's process; this peer lives in an environment of its own"
    refuses = getattr(peer, "refuses", None)
    said: str | None = refuses(case) if refuses else None
    return said


def _has_penstock() -> bool:
    """Whether this is a whole penstock, and not what `start` put together."""
    return hasattr(sys.modules["penstock"], "__version__")


def main() -> None:
    """Answer the one request of the command line."""
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)

        def say(what: dict[str, Any]) -> None:
            answers.write(json.dumps(what) + "\n")
            answers.flush()

        answer = _answer(json.loads(sys.argv[1]), lambda progress: say({"progress": progress}))
        sys.stdout.flush()
        say({"answer": answer})
    # Some libraries' threads wait for each other at interpreter exit. The answer is out: leave at once.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
