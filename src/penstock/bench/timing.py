"""Time one peer over a case, in this process: a rehearsal, the cache brought into its state, and then the clock.

The loader is made anew for the data after the rehearsal. Its start is apart from its pace: making it, asking the first
epoch for its iterator (most loaders start their workers there), and the first batch. Warm data: the first epoch is
delivered and checked, but not counted. Cold data: the first epoch is the one that counts. With `batches` in the case
the first batch is start-up, and so many batches after it are the window.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench import cache_state, rehearsal, window
from penstock.bench.consumer import training_step
from penstock.bench.cost import Cost, Memory, cpus_of, processes_below
from penstock.bench.machine import allowed_cpus
from penstock.bench.taking import Taker, checked
from penstock.results import Epoch, Gate, waits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.bench.case import Case
    from penstock.bench.peers import Peer

__all__ = ["rehearse", "time_peer"]

ENOUGH_USE = 0.90
CAPACITY_TRIES = 6
STEPS_KEPT = 20_000  # of a run, one by one; longer runs have their histogram


@dataclass(slots=True)
class _Timing:
    """What was found while the clock ran."""

    construct: float = 0.0
    start: float = 0.0
    fetch: float = 0.0
    windows: list[window.Window] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    resident: float | None = None  # before the window
    before: Cost | None = None  # of it
    after: Cost | None = None

    step: Callable[[Any], None] | None = None  # of a real model

    def epoch(self, taker: Taker, batches: Any, case: Case, *, counted: bool) -> None:
        """Go through one epoch."""
        taker.begin()
        begin = time.perf_counter()
        iterator = iter(batches)
        started = time.perf_counter() - begin
        think = case.think_seconds if counted else 0.0
        part = window.consume(iterator, taker.take, think_seconds=think, step=self.step)
        # Asking for an epoch's iterator belongs to the epoch: to its seconds, and to the wait of its first step.
        waited = (started + part.wait_seconds[0], *part.wait_seconds[1:]) if part.wait_seconds else ()
        part = window.Window(part.seconds + started, waited, part.think_seconds, part.samples, part.is_whole)
        if not self.epochs and part.wait_seconds:
            self.start, self.fetch = started, part.wait_seconds[0] - started
        if counted:
            self.windows.append(part)
        first = waited[0] if waited else None
        samples = sum(part.samples)
        self.epochs.append(Epoch(samples=samples, seconds=part.seconds, counted=counted, first_batch_seconds=first))


def rehearse(peer: Peer, case: Case) -> list[Gate]:
    """Go through the epochs of a rehearsal, and check what came."""
    epochs, boxes = iter(peer.epochs(case)), rehearsal.Boxes()
    for _ in range(rehearsal.EPOCHS):
        for images, ids in next(epochs):
            rehearsal.boxes_of(checked(images, case), np.array(ids, np.int64), boxes)
    _close(epochs)
    return rehearsal.gates(boxes)


def _close(epochs: Any) -> None:
    if hasattr(epochs, "close"):
        epochs.close()


def _form_paths(peer: Peer, case: Case) -> list[Path]:
    """List the files that a peer reads: those of its form, or the folder's."""
    form, _ = peer.prepare(case)
    return cache_state.files_below(form if form is not None else Path(case.data))


def time_peer(
    peer: Peer,
    case: Case,
    *,
    rehearsal_case: Case | None = None,
    group: str | None = None,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Run one peer over the case; describe what was delivered, in what time, at what cost, as fields of a `Run`."""
    has_pixels = getattr(peer, "DELIVERS", "batches") == "batches"
    gates = rehearse(peer, rehearsal_case) if rehearsal_case is not None and has_pixels else []
    if any(not gate.passed for gate in gates):
        return {"gates": [asdict(gate) for gate in gates]}
    paths = _form_paths(peer, case)
    how = cache_state.enter("cold" if case.cache == "limited" else case.cache, paths)
    if group:
        (Path(group) / "cgroup.procs").write_text(str(os.getpid()))
    taker, found = Taker(case, has_pixels=has_pixels, tell=tell), _Timing()
    if case.model:
        found.step = training_step(case.model, case.device)
    epochs = _go(peer, case, found, taker, paths)
    tried = _capacity(epochs, taker, found) if case.capacity else []
    memory = Memory.now()
    cpus = cpus_of(processes_below(os.getpid())) if sys.platform == "linux" else set(allowed_cpus())
    _close(epochs)

    cache = cache_state.proof(
        case.cache,
        how,
        resident=(found.resident, cache_state.resident_share(paths)),
        payload_bytes=sum(path.stat().st_size for path in paths),
        device_read_bytes=found.after.since(found.before).device_read_bytes if found.after and found.before else None,
    )
    gates += taker.gates(are_whole=not case.batches)
    allowed = set(allowed_cpus())
    expected = f"none but {sorted(allowed)}"
    gates.append(Gate(name="cpus", passed=cpus <= allowed, got=f"CPUs {sorted(cpus)}", expected=expected))
    if not case.batches:  # of a few batches nobody knows how many bytes they had
        gates.append(cache_state.gate(cache))
    waited = [one for part in found.windows for one in part.wait_seconds]
    values = _values(case, found, taker, memory)
    if enough := [try_ for try_ in tried if try_[1] >= ENOUGH_USE]:
        values["feed_capacity_samples_per_second"] = case.batch_size / min(think for think, _ in enough)
    return {
        "values": values,
        "gates": [asdict(gate) for gate in gates],
        "cache": asdict(cache),
        "waits": asdict(waits.count(waited)),
        "epochs": [asdict(epoch) for epoch in found.epochs],
        "steps": asdict(window.steps(found.windows)) if len(waited) <= STEPS_KEPT else None,
        "raw": {"levels": taker.mean_levels(), **({"think_and_use": tried} if tried else {})},
    }


def _go(peer: Peer, case: Case, found: _Timing, taker: Taker, paths: list[Path]) -> Iterator[Any]:
    """Make the loader, and take what is to be taken; the peer's epochs, to be closed."""
    if case.is_cold:
        found.resident, found.before = cache_state.resident_share(paths), Cost.now()
    begin = time.perf_counter()
    epochs: Iterator[Any] = iter(peer.epochs(case))
    first = next(epochs)
    found.construct = time.perf_counter() - begin
    if case.batches:
        _some_batches(found, taker, case, (first, epochs), paths)
    elif case.is_cold:
        found.epoch(taker, first, case, counted=True)
    else:
        for number in range(case.warmup_epochs):
            found.epoch(taker, first if number == 0 else next(epochs), case, counted=False)
        found.resident, found.before = _resident(case, paths), Cost.now()
        for _ in range(case.epochs):
            found.epoch(taker, next(epochs), case, counted=True)
    found.after = Cost.now()
    return epochs


def _capacity(epochs: Iterator[Any], taker: Taker, found: _Timing) -> list[tuple[float, float]]:
    """Look for the shortest think time that is kept busy for 90 % of the time; (think time, use) of each try.

    A try is an epoch. It begins at the loader's own pace, which keeps nobody so busy, and twice that time, and halves
    the distance again and again.
    """
    last = found.windows[-1]
    pace = last.seconds / max(1, len(last.wait_seconds))
    low, high, tried = 0.5 * pace, 2.0 * pace, list[tuple[float, float]]()
    for _ in range(CAPACITY_TRIES):
        think = (low * high) ** 0.5
        taker.begin()
        part = window.consume(iter(next(epochs)), taker.take, think_seconds=think)
        use = think * len(part.wait_seconds) / part.seconds
        tried.append((think, use))
        low, high = (low, think) if use >= ENOUGH_USE else (think, high)
    return tried


def _resident(case: Case, paths: list[Path]) -> float | None:
    """Tell how much of the files is in the page cache; what the system let go of meanwhile is read once more first."""
    resident = cache_state.resident_share(paths)
    if case.cache == "warm" and resident is not None and resident < 1:
        cache_state.enter("warm", paths)
        resident = cache_state.resident_share(paths)
    return resident


def _some_batches(
    found: _Timing, taker: Taker, case: Case, given: tuple[Any, Iterator[Any]], paths: list[Path]
) -> None:
    """Take the first batch, which is start-up, and then as many as are wanted."""
    batches, epochs = given
    taker.begin()
    begin = time.perf_counter()
    iterator = iter(batches)
    found.start = time.perf_counter() - begin
    found.fetch = window.consume(iterator, taker.take, most_batches=1).seconds
    if not case.is_cold:
        found.resident, found.before = _resident(case, paths), Cost.now()
    left = case.batches
    while left:
        part = window.consume(
            iterator, taker.take, think_seconds=case.think_seconds, step=found.step, most_batches=left
        )
        if part.samples:
            found.windows.append(part)
            found.epochs.append(Epoch(samples=sum(part.samples), seconds=part.seconds, counted=True))
        left -= len(part.samples)
        if left:
            taker.begin()
            iterator = iter(next(epochs))


def _values(case: Case, found: _Timing, taker: Taker, memory: Memory | None) -> dict[str, float]:
    """Compute the metrics."""
    values = window.values(found.windows, think_seconds=case.think_seconds, workers=case.workers)
    values |= {"construct_seconds": found.construct, "start_seconds": found.start, "fetch_first_seconds": found.fetch}
    values["first_batch_seconds"] = found.construct + found.start + found.fetch
    if not case.batches:
        counted = sum(epoch.counted for epoch in found.epochs)
        payload = counted * sum(os.stat(path).st_size for path, _ in case.files())  # noqa: PTH116 strings
        values |= {"payload_bytes": payload, "bytes_per_second": payload / values["seconds"]}
        if taker.image_bytes:
            values["delivered_bytes"] = taker.image_bytes / len(taker.epochs) * counted
        first = found.epochs[0]
        values["first_epoch_samples_per_second"] = first.samples / (first.seconds + found.construct)
    if found.before is not None and found.after is not None:
        cost, samples = found.after.since(found.before), values["samples"]
        values |= {
            "cpu_seconds_per_thousand": 1000 * cost.cpu_seconds / samples,
            "user_seconds_per_thousand": 1000 * cost.user_seconds / samples,
            "system_seconds_per_thousand": 1000 * cost.system_seconds / samples,
            "device_read_bytes": cost.device_read_bytes,
            "read_bytes": cost.read_bytes,
            "requests_per_thousand": 1000 * cost.read_calls / samples,
            "major_faults": cost.major_faults,
        }
        if "payload_bytes" in values:
            values["read_amplification"] = cost.device_read_bytes / values["payload_bytes"]
    if memory is not None:
        values |= {"memory_bytes": memory.bytes, "processes": memory.processes, "threads": memory.threads}
    return values
