"""A study: cells measured block by block, each run a process of its own; the result, also when it is cut short.

A block is every cell once, in an order drawn anew. Within a block the cells meet the same state of the machine, so the
ratio of two rates of the same block is what is compared, and a machine that gets slower over an hour hurts nobody in
particular. A system named twice is measured against its twin, and what these two differ by is what this study cannot
tell from nothing.

A failure is a run, never a gap: "failed" with the last words of the child or the gate that it did not pass, "hung"
when it passed the deadline, "refused" with the reason why it cannot be done here. Ctrl-C ends the run under way, and
what was measured until then is the result.
"""

from __future__ import annotations

import random
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.bench.machine import describe
from penstock.bench.run import DEADLINE_SECONDS, ask, command
from penstock.errors import PenstockError
from penstock.results import Cache, Cell, Epoch, Gate, Result, Run, Steps, System, Waits
from penstock.results.result import FAILED, INTERRUPTED, OK, REFUSED
from penstock.results.validity import findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from penstock.results import Factor

__all__ = ["Event", "Job", "now", "run_of", "schedule", "study", "twins"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened while a study runs, for whoever watches."""

    kind: str  # "prepare", "begin", "progress" or "end"
    cell: str
    done: int = 0  # runs that are over
    total: int = 0
    samples: float = 0.0  # "progress": taken since the last word
    seconds: float = 0.0  # and in what time
    run: Run | None = None  # "end": what it came to


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """How to measure one cell."""

    cell: Cell
    request: Mapping[str, Any]  # what its child is asked
    interpreter: Path | None = None  # of its environment; None: this one
    refusal: str = ""  # why it is not even tried; empty: it is
    failed: bool = False  # what is not tried has failed before, and is not just impossible here
    group: Callable[[], AbstractContextManager[Path]] | None = None  # makes the control group that it runs in


def now() -> str:
    """Say the time in UTC, to the second."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def twins(names: Sequence[str]) -> list[str]:
    """Tell apart peers named more than once: the second "penstock" becomes "penstock#2"."""
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return told


def schedule(names: Sequence[str], blocks: int, seed: int) -> list[list[str]]:
    """Draw the order of the cells in each block."""
    draws = random.Random(seed)  # noqa: S311 an order of work, not a secret
    return [draws.sample(list(names), len(names)) for _ in range(blocks)]


def run_of(cell: str, block: int, position: int, answer: Mapping[str, Any], begun: str = "") -> Run:
    """Make a run of a child's answer; one that passed not every gate has failed, and has no values."""
    gates = tuple(Gate(**gate) for gate in answer.get("gates", ()))
    failed = [gate for gate in gates if not gate.passed]
    status, message = answer["status"], answer.get("message", "")
    if status == OK and failed:
        status = FAILED
        message = "\n".join(f"{gate.name}: got {gate.got}, expected {gate.expected}" for gate in failed)
    cache, waited, steps = answer.get("cache"), answer.get("waits"), answer.get("steps")
    return Run(
        cell=cell,
        block=block,
        position=position,
        status=status,
        message=message,
        begun=begun,
        values=answer.get("values", {}) if status == OK else {},
        gates=gates,
        cache=Cache(**cache) if cache else None,
        waits=Waits(**{**waited, "counts": {int(n): many for n, many in waited["counts"].items()}}) if waited else None,
        epochs=tuple(Epoch(**epoch) for epoch in answer.get("epochs", ())),
        steps=Steps(**{name: tuple(part) for name, part in steps.items()}) if steps else None,
        raw=answer.get("raw", {}),
    )


def study(
    jobs: Sequence[Job],
    *,
    systems: Sequence[System],
    factors: Sequence[Factor] = (),
    blocks: int,
    seed: int,
    deadline_seconds: float = DEADLINE_SECONDS,
    watch: Callable[[Event], None] = lambda _: None,
    **about: Any,
) -> Result:
    """Measure all jobs in blocks. `about` is the rest of the result: its kind, title, command, work.

    The versions and settings that children tell of become those of their systems.
    """
    by_cell = {job.cell.name: job for job in jobs}
    told: dict[str, Mapping[str, Any]] = {}
    runs: list[Run] = []
    begun, total = now(), len(jobs) * blocks
    about["manifest"] = {"machine": describe(), **about.get("manifest", {})}
    with suppress(KeyboardInterrupt):  # wherever it comes: what was measured is kept
        for block, position, name in _places(list(by_cell), blocks, seed):
            job, begins = by_cell[name], now()
            try:
                watch(Event("begin", name, len(runs), total))
                answer = _measure(job, deadline_seconds, partial(_progress, watch, name, len(runs), total))
            except KeyboardInterrupt:
                answer = {"status": INTERRUPTED, "message": "interrupted while it ran"}
            if answer["status"] == OK:
                told.setdefault(job.cell.system, answer)
            runs.append(run_of(name, block, position, answer, begins))
            if answer["status"] == INTERRUPTED:
                break
            watch(Event("end", name, len(runs), total, run=runs[-1]))
    interrupted = len(runs) < total or any(run.status == INTERRUPTED for run in runs)
    result = Result(
        systems=tuple(_told(system, told.get(system.name, {})) for system in systems),
        factors=tuple(factors),
        cells=tuple(job.cell for job in jobs),
        runs=tuple(runs),
        blocks=blocks,
        seed=seed,
        status=INTERRUPTED if interrupted else "complete",
        begun=begun,
        ended=now(),
        **about,
    )
    return replace(result, findings=(*result.findings, *findings(result)))


def _measure(job: Job, deadline_seconds: float, progress: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    if job.refusal:
        return {"status": FAILED if job.failed else REFUSED, "message": job.refusal}
    try:
        with _grouped(job) as request:
            started_by = command(job.interpreter)
            return ask(request, started_by=started_by, deadline_seconds=deadline_seconds, progress=progress)
    except PenstockError as error:  # the group cannot be made
        return {"status": REFUSED, "message": str(error)}


@contextmanager
def _grouped(job: Job) -> Iterator[Mapping[str, Any]]:
    if job.group is None:
        yield job.request
        return
    with job.group() as folder:
        yield {**job.request, "group": str(folder)}


def _progress(watch: Callable[[Event], None], cell: str, done: int, total: int, said: Mapping[str, Any]) -> None:
    watch(Event("progress", cell, done, total, said.get("samples", 0.0), said.get("seconds", 0.0)))


def _told(system: System, answer: Mapping[str, Any]) -> System:
    told = {name: answer[name] for name in ("label", "settings", "versions") if answer.get(name)}
    return replace(system, **told)


def _places(names: Sequence[str], blocks: int, seed: int) -> Iterator[tuple[int, int, str]]:
    for block, order in enumerate(schedule(names, blocks, seed)):
        for position, name in enumerate(order):
            yield block, position, name
