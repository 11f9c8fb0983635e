"""What was measured, as frozen values: one result is one file (docs/format/results-v1.md has every field).

    Result
    ├── manifest       the machine, the software, the data: what must be alike for results to be comparable
    ├── systems        what was measured: a loader, a codec, a store
    ├── factors        what was varied: workers, cache state, think time
    ├── cells          one system at one level of every factor
    ├── runs           one cell once, in a process of its own, within one block; failures and hangs are runs too
    │   ├── values     numbers by the names of `metrics`; a number that was not measured is absent, never zero
    │   ├── gates      checks that the work was the work; a run with a failed gate has no values
    │   ├── cache      what was asked of the page cache, and what was found before and after
    │   └── waits      how long the consumer waited, as a histogram that can be added to others
    └── findings       what a reader should hold against it

A block is every cell once, in an order drawn anew. Blocks are what is compared: within one, all cells met the same
machine. Nothing here is an average: values are of one run, and what they add up to is `conclusions`' to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "FAILED",
    "FORMAT",
    "HUNG",
    "INTERRUPTED",
    "OK",
    "REFUSED",
    "VERSION",
    "Cache",
    "Cell",
    "Epoch",
    "Factor",
    "Finding",
    "Gate",
    "Result",
    "Run",
    "Steps",
    "System",
    "Waits",
]

FORMAT = "penstock-results"
VERSION = 1

# What became of a run. Only the first has values.
OK = "ok"
FAILED = "failed"  # it crashed, delivered something else, or passed no gate
HUNG = "hung"  # it passed its deadline and was killed
REFUSED = "refused"  # it cannot be done here: no such library, no such device; `message` has the reason
INTERRUPTED = "interrupted"  # somebody stopped it


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """Something that was varied; its levels in the order in which they are shown."""

    name: str
    levels: tuple[Any, ...]
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Something that was measured."""

    name: str  # within this result; a twin is told apart by "#2"
    peer: str  # what it is, the same for twins
    label: str  # as shown to people
    kind: str = "other"  # "ours", "other", or "bound": no loader but a limit that loaders can approach
    settings: str = ""  # how it was set up, in one line
    versions: Mapping[str, str] = field(default_factory=dict)
    form: str | None = None  # the name of its own form of the data; None: it reads the data as they are
    form_bytes: int | None = None
    form_seconds: float | None = None  # to make it, when it was made for this result


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One system at one level of every factor."""

    name: str
    system: str
    levels: Mapping[str, Any] = field(default_factory=dict)  # by the name of the factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A check that the work done was the work asked for."""

    name: str
    passed: bool
    got: str = ""
    expected: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """The page cache around a run: what was asked for, and the proof."""

    asked: str  # "warm", "cold", "dropped", "limited", "disk", or "as it was"
    found: str  # what the proof says: "warm", "cold", "mixed", or "not known"
    how: str = ""  # what was done to get there
    resident_before: float | None = None  # share of the data's pages in the page cache
    resident_after: float | None = None
    payload_bytes: int | None = None  # bytes of the files that the run reads
    device_read_bytes: int | None = None  # that came from the device while the clock ran


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Waits of the consumer for its next batch, counted by logarithmic classes: see `penstock.results.waits`."""

    counts: Mapping[int, int]  # by the number of the class
    total_seconds: float
    longest_seconds: float
    longest_step: int = 0  # which step waited longest


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One epoch of a run."""

    samples: int
    seconds: float
    counted: bool  # False: a warm-up, kept on record
    first_batch_seconds: float | None = None  # from asking for the epoch to its first batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The counted steps of a run one by one: how long the consumer waited, and how long it then thought."""

    wait_seconds: tuple[float, ...]
    think_seconds: tuple[float, ...] = ()  # as measured; empty: it did not think
    samples: tuple[int, ...] = ()  # of each step's batch; empty: as many as `work` says


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One cell, once."""

    cell: str
    block: int
    position: int  # within the block
    status: str
    message: str = ""  # of what failed: the last lines that it said
    begun: str = ""  # when, in UTC
    values: Mapping[str, float] = field(default_factory=dict)  # by the name of a metric
    gates: tuple[Gate, ...] = ()
    cache: Cache | None = None
    waits: Waits | None = None
    epochs: tuple[Epoch, ...] = ()
    steps: Steps | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)  # whatever else the measurement said

    @property
    def is_ok(self) -> bool:
        """Whether the run has values to count."""
        return self.status == OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A reason to trust a result less, found by a machine."""

    name: str
    severity: str  # "note", "doubt", or "invalid"
    message: str  # a sentence
    cells: tuple[str, ...] = ()  # of which it is said; empty: of all


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Everything about one study."""

    kind: str  # "race": systems compared; "bench": one layer measured; "imported": another tool's, translated
    title: str
    command: str  # how to do it again
    primary: str  # the metric that conclusions are drawn from, declared before anything was measured
    cells: tuple[Cell, ...]
    runs: tuple[Run, ...]
    systems: tuple[System, ...]
    factors: tuple[Factor, ...] = ()
    blocks: int = 1
    seed: int = 0
    status: str = "complete"  # or "interrupted": what was measured until then is here
    is_quick: bool = False  # too short to conclude anything from, by intent
    begun: str = ""
    ended: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    work: Mapping[str, Any] = field(default_factory=dict)  # what was the same for every cell: batch size, transforms, …
    findings: tuple[Finding, ...] = ()

    def runs_of(self, cell: str) -> tuple[Run, ...]:
        """List the runs of one cell, block by block."""
        return tuple(sorted((run for run in self.runs if run.cell == cell), key=lambda run: run.block))

    def system(self, name: str) -> System:
        """Find the system of this name."""
        return next(system for system in self.systems if system.name == name)

    def values(self, cell: str, metric: str) -> dict[int, float]:
        """Collect one metric of one cell, by block, of the runs that have it."""
        found: Iterable[Run] = self.runs_of(cell)
        return {run.block: run.values[metric] for run in found if run.is_ok and metric in run.values}
