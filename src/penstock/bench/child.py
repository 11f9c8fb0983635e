"""One peer in a process of its own: prepare its form of the data, or time it; the answer is one JSON line on stdout.

    python -m penstock.bench.child '{"task": "time", "peer": "torchvision", "case": {…}}'

Nothing of the peer is imported before the CPU set is cut down to the case's, so that a library which sizes its thread
pools at import sees what it may use. A peer is a module that gives its epochs one after another; an epoch is an
iterable of (images, ids). The clock starts when an epoch is first asked for a batch and stops when its last batch is
delivered; the rate is total samples over total seconds of the measured epochs. The first epoch is not counted: it fills
the page cache, compiles what is compiled, and is where the pixels are looked at (shape, type, mean level).

Libraries like to print. So the answer goes to the stdout that the parent gave, and before anything is imported, stdout
is pointed at stderr.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench.case import Case
from penstock.bench.cost import Cost
from penstock.bench.machine import allowed_cpus, versions
from penstock.bench.peers import Peer, load
from penstock.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

__all__ = ["digest", "prepare", "time_peer"]

LEVEL_BATCHES = 16  # of the first epoch, whose mean level is taken: enough to notice black, swapped or shifted images


def digest(ids: NDArray[np.int64]) -> str:
    """Digest a multiset of ids: the same for every order of the same ids, and for no other."""
    return hashlib.sha256(np.sort(ids).tobytes()).hexdigest()[:16]


def _levels(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Compute the mean level per colour of a batch in either layout."""
    channel = 1 if images.shape[1] == 3 else 3
    axes = tuple(axis for axis in range(4) if axis != channel)
    mean: NDArray[np.float64] = images.mean(axis=axes, dtype=np.float64)
    return mean


def _check(images: Any, case: Case) -> NDArray[np.uint8]:
    array = np.asarray(images)
    side = case.size
    if array.dtype != np.uint8 or array.shape[1:] not in {(3, side, side), (side, side, 3)}:
        raise DataError(
            "a batch", got=f"{array.dtype} {array.shape}", expected=f"uint8 of {side}x{side} RGB, either layout"
        )
    return array


def _epoch(
    batches: Iterable[tuple[Any, Any]], look: Callable[[Any], None] | None, started: list[float]
) -> tuple[float, NDArray[np.int64]]:
    """Deliver one epoch; its seconds and the ids in order of delivery. `started` gets the time of the first batch."""
    ids: list[NDArray[np.int64]] = []
    begin = time.perf_counter()
    for images, batch_ids in batches:
        if not ids:
            started.append(time.perf_counter())
        ids.append(np.array(batch_ids, np.int64).reshape(-1))  # copied: loaders recycle their buffers
        if look is not None:
            look(images)
    seconds = time.perf_counter() - begin
    return seconds, np.concatenate(ids) if ids else np.empty(0, np.int64)


def time_peer(peer: Peer, case: Case) -> dict[str, Any]:
    """Run one peer over the case and describe what was delivered, in what time, at what cost."""
    levels: list[NDArray[np.float64]] = []
    counts: list[int] = []
    checks_pixels = getattr(peer, "DELIVERS", "batches") == "batches"

    def look(images: Any) -> None:
        if checks_pixels:
            array = _check(images, case)
            if len(levels) < LEVEL_BATCHES:
                levels.append(_levels(array))
                counts.append(len(array))

    begin, first = time.perf_counter(), list[float]()
    epochs = iter(peer.epochs(case))
    warmup = [_epoch(next(epochs), look, first) for _ in range(case.warmup_epochs)]
    before = Cost.now()
    measured = [_epoch(next(epochs), None, []) for _ in range(case.epochs)]
    after = Cost.now()
    if hasattr(epochs, "close"):
        epochs.close()

    delivered = [ids for _, ids in warmup + measured]
    expected = digest(np.arange(len(case.files()), dtype=np.int64))
    wrong = [number for number, ids in enumerate(delivered) if digest(ids) != expected]
    if wrong:
        ids = delivered[wrong[0]]
        raise DataError(
            f"epoch {wrong[0]} did not deliver every sample exactly once",
            got=f"{len(ids)} samples, {len(np.unique(ids))} distinct, digest {digest(ids)}",
            expected=f"{len(case.files())} samples, digest {expected}",
        )
    if len(delivered) > 1 and len(delivered[0]) > 8 and np.array_equal(delivered[0], np.sort(delivered[0])):
        raise DataError("samples came in the order of the folder", expected="a shuffled epoch")
    seconds = sum(duration for duration, _ in measured)
    samples = sum(len(ids) for _, ids in measured)
    return {
        "samples": samples,
        "seconds": seconds,
        "rate": samples / seconds,
        "epoch_seconds": [duration for duration, _ in measured],
        "first_batch_seconds": first[0] - begin,
        "warmup_seconds": [duration for duration, _ in warmup],
        "levels": [round(float(level), 2) for level in np.average(levels, axis=0, weights=counts)] if levels else None,
        "digest": expected,
        "cpu_seconds": after.cpu_seconds - before.cpu_seconds if after and before else None,
        "device_read_bytes": after.device_read_bytes - before.device_read_bytes if after and before else None,
        "memory_bytes": after.memory_bytes if after else None,
    }


def prepare(peer: Peer, case: Case) -> dict[str, Any]:
    """Make the peer's own form of the data where it needs one and has none; its size, and the seconds that took."""
    begin = time.perf_counter()
    form, is_new = peer.prepare(case)
    seconds = time.perf_counter() - begin
    if form is None:
        return {"form": None}
    paths = [form] if form.is_file() else sorted(path for path in form.rglob("*") if path.is_file())
    stored_bytes = sum(path.stat().st_size for path in paths)
    return {"form": form.name, "form_bytes": stored_bytes, "made_seconds": seconds if is_new else None}


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    case = Case.from_json(request["case"])
    if request["task"] == "time" and hasattr(os, "sched_setaffinity"):
        cpus = allowed_cpus()
        if len(cpus) < case.workers:
            raise UsageError("more workers than CPUs", got=case.workers, expected=f"at most {len(cpus)}")
        os.sched_setaffinity(0, cpus[: case.workers])
    peer = load(request["peer"])
    about = {"label": peer.LABEL, "settings": peer.SETTINGS, "versions": versions(peer.DISTRIBUTIONS)}
    work = prepare if request["task"] == "prepare" else time_peer
    return {**about, **work(peer, case)}


def main() -> None:
    """Answer the one request of the command line."""
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        answer = _answer(json.loads(sys.argv[1]))
        sys.stdout.flush()
        answers.write(json.dumps(answer) + "\n")
    # Some libraries' threads wait for each other at interpreter exit. The answer is out: leave at once.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
