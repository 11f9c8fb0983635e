"""Packing on a Ray cluster: the same bytes as one process makes, from as many machines as there are.

    driver     orders the samples, cuts the order into slices of some MiB, says where shards end, keeps the journal
    slices     tasks that read, recognise, rewrite, check, lay out; what they make stays on their node, in Ray's object
               store, and the driver gets only its sizes
    shards     tasks that are given the slices of a shard, write it and make it lasting; the driver gets the rows of the
               index, and journals them

No sample's bytes go through the driver. Where a shard ends follows from sizes in write order, as in one process, so the
result does not depend on how many nodes there are, how fast they are, or which of them are lost: what a lost node had
made or was making Ray has made again elsewhere, and it comes to the same bytes.

At any time there are two slices per CPU under way, one shard that is being filled, and as many being written as there
are nodes; all of that lies in the nodes' object stores. A task has one slice in memory, or one shard.

Nodes must see the source and the destination under the same names: a file system that they share, or URLs.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.errors import PenstockError, StalledError, StorageError, UsageError
from penstock.ingest.source import Skipped, shown
from penstock.ingest.transcode import transcoded
from penstock.shard.piece import decode_piece
from penstock.work import ShardFile

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from ray import ObjectRef

    from penstock.ingest.transcode import Transcoded
    from penstock.shard.piece import Piece
    from penstock.work import Run, Work

__all__ = ["Cluster", "started_here"]

_SLICE_SAMPLES = 512  # at most so many in a slice, however small they are
_ATTEMPTS = 8  # how often a part is made again when its node is lost
_ANSWERS_IN_S = 10
_TOKEN = secrets.token_hex(32)  # for a Ray of our own: nobody else on this machine may give it work


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster, as an engine for `penstock.pack`.

    `address` is that of a cluster, host:port, or "auto" for the one that `ray start` made this machine a part of.
    Without one, Ray is started on this machine alone, on the loopback interface, and shut down afterwards; a Ray that
    the caller has initialised is used as it is. `slice_bytes` of the source are one task. A part that is not there
    after `patience_s` is waited for no longer.
    """

    address: str | None = None
    slice_bytes: int = 16 * 1024 * 1024
    patience_s: float = 3600

    def __post_init__(self) -> None:
        if self.slice_bytes < 1 or self.patience_s <= 0:
            got = f"slice_bytes={self.slice_bytes}, patience_s={self.patience_s}"
            raise UsageError("slices and patience are more than nothing", got=got)

    @contextmanager
    def begin(self, work: Work) -> Iterator[Run[_Made]]:
        """Connect, and let go afterwards."""
        with _connected(self.address, work.workers) as is_ours:
            yield _OnCluster(self, work, None if is_ours else work.workers)


@dataclass(frozen=True, slots=True)
class _Made:
    """What the driver knows of a sample that is ready: not its bytes."""

    bytes: int
    source_bytes: int
    outcome: str


@dataclass(frozen=True, slots=True)
class _Slice:
    """A range of the write order, and what a task makes of it."""

    start: int
    stop: int
    told: ObjectRef[list[_Made | Skipped]]
    made: ObjectRef[list[Transcoded | Skipped]]


@final
class _OnCluster:
    """Work that a cluster does."""

    def __init__(self, cluster: Cluster, work: Work, most: int | None) -> None:
        import ray

        self._cluster, self._work = cluster, work
        self._most = most  # slices under way; None: as many as keep all CPUs busy
        self._kept = ray.put((work, os.getcwd()))  # once per node, not once per task
        self._unwritten: deque[_Slice] = deque()  # slices of which samples are not in a closed shard yet
        options: dict[str, Any] = {"num_cpus": 1, "max_retries": _ATTEMPTS, "scheduling_strategy": "SPREAD"}
        self._transcode: Any = ray.remote(_transcode).options(num_returns=2, **options)
        self._write: Any = ray.remote(_write).options(**options)

    @property
    def at_once(self) -> int:
        """As many shards as there are nodes."""
        import ray

        nodes = ray.nodes()  # type: ignore[no-untyped-call]
        return max(1, sum(bool(node["Alive"]) for node in nodes))

    def items(self, order: Sequence[int], start: int) -> Generator[_Made | Skipped, None, None]:
        """Have slices made, and tell their samples in order."""
        import ray

        waiting: deque[_Slice] = deque()
        try:
            for first, stop in _slices(self._work, order, start, self._cluster.slice_bytes):
                told, made = self._transcode.remote([self._kept], np.asarray(order[first:stop], np.int64))
                waiting.append(_Slice(first, stop, told, made))
                self._unwritten.append(waiting[-1])
                while len(waiting) >= self._most_waiting():
                    yield from self.got(waiting.popleft().told)
            while waiting:
                yield from self.got(waiting.popleft().told)
        finally:
            for left in waiting:
                with suppress(ray.exceptions.RayError):
                    ray.cancel(left.told)

    def _most_waiting(self) -> int:
        import ray

        resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
        cpus = max(1, int(resources.get("CPU", 1)))  # nodes come and go
        return 2 * cpus if self._most is None else self._most

    def shard(self, name: str, start: int) -> _Gathered:
        """Begin a shard that a task will write."""
        return _Gathered(self, name, start)

    def written(self, name: str, start: int, stop: int) -> Callable[[], Piece]:
        """Have the samples from `start` to `stop` of the order written as a shard."""
        parts = [part for part in self._unwritten if part.start < stop]
        cuts = [(max(start, part.start) - part.start, min(stop, part.stop) - part.start) for part in parts]
        while self._unwritten and self._unwritten[0].stop <= stop:
            self._unwritten.popleft()
        piece = self._write.remote([self._kept], name, stop, cuts, *(part.made for part in parts))
        return lambda: decode_piece(self.got(piece), name)

    def got(self, what: ObjectRef[Any]) -> Any:
        """Wait for a part, and tell of what went wrong with it as one process does."""
        import ray

        try:
            return ray.get(what, timeout=self._cluster.patience_s)
        except ray.exceptions.GetTimeoutError as error:
            got, hint = f"nothing for {self._cluster.patience_s:.0f} s", "see `ray status`; the same command goes on"
            what_failed = "the driver waited for a node to do its part"
            raise StalledError(
                what_failed, got=got, expected="one that is alive and has a CPU free", hint=hint
            ) from error
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, PenstockError):
                raise error.cause from None
            raise
        except ray.exceptions.RayError as error:
            hint = "see that the nodes have memory and stay; the same command goes on where this stopped"
            raise StorageError(
                "the cluster lost a part of the work too often", got=_first_line(error), hint=hint
            ) from error


@final
class _Gathered:
    """Says which samples a shard has; a task writes it."""

    def __init__(self, run: _OnCluster, name: str, start: int) -> None:
        self.bytes = 0
        self._run, self._name, self._start = run, name, start

    def add(self, item: _Made | Skipped) -> None:
        """Count a sample's bytes."""
        if not isinstance(item, Skipped):
            self.bytes += item.bytes

    def close(self, stop: int) -> Callable[[], Piece]:
        """Have it written."""
        return self._run.written(self._name, self._start, stop)

    def discard(self) -> None:
        """Do nothing: there is no file here."""


def _slices(work: Work, order: Sequence[int], start: int, slice_bytes: int) -> Iterator[tuple[int, int]]:
    """Cut an order, from `start` on, where the source's bytes add up to a slice."""
    sizes = np.zeros(len(order), np.int64)
    for items in work.source.fields.values():
        sizes += items.sizes[np.asarray(order, np.int64)]
    ends = np.cumsum(sizes)
    while start < len(order):
        full = int(np.searchsorted(ends, ends[start] - sizes[start] + slice_bytes, side="right"))
        stop = min(max(full, start + 1), start + _SLICE_SAMPLES)
        yield start, stop
        start = stop


def _transcode(kept: list[ObjectRef[Any]], positions: Any) -> tuple[list[_Made | Skipped], list[Transcoded | Skipped]]:
    """Task: make a slice of samples ready. What the driver has to know comes apart, since only that goes to it."""
    work = _work(kept[0])
    made = list(transcoded(work.source, positions.tolist(), work.recipe, 1))
    told = [item if isinstance(item, Skipped) else _Made(item.bytes, item.source_bytes, item.outcome) for item in made]
    return told, made


def _write(
    kept: list[ObjectRef[Any]], name: str, stop: int, cuts: list[tuple[int, int]], *slices: list[Transcoded | Skipped]
) -> bytes:
    """Task: write a shard. It grows under a name of its own: a node that is lost may not know it, and go on writing."""
    shard = ShardFile(_work(kept[0]), name, attempt=secrets.token_hex(8))
    try:
        for made, (first, last) in zip(slices, cuts, strict=True):
            for item in made[first:last]:
                shard.add(item)
        return shard.close(stop)().encode()
    finally:
        shard.discard()


@lru_cache(maxsize=1)
def _work(kept: ObjectRef[Any]) -> Work:
    """Get the work, once per process, and see that what it is about is here, too."""
    import ray

    work: Work
    work, folder = ray.get(kept)
    with suppress(OSError):
        os.chdir(folder)  # relative paths mean what they mean to the driver
    for path in work.paths:
        if not os.path.exists(path):
            got, hint = f"not on {_node()}", "use a file system that all nodes share, or URLs"
            raise UsageError("a node of the cluster does not see this path", file=shown(path), got=got, hint=hint)
    return work


@contextmanager
def started_here(cpus: int | None = None) -> Iterator[None]:
    """Run a Ray of our own on this machine, with as many CPUs (None: all), that keeps to itself and ends with this."""
    with _quiet_and_local():
        _init(address="local", num_cpus=cpus, include_dashboard=False)
    import ray

    try:
        if _node() != "127.0.0.1":
            hint = "let penstock import ray first, or start Ray yourself (ray.init), and it is used as it is"
            raise UsageError("Ray listens to other machines, since it was imported before", hint=hint)
        yield
    finally:
        ray.shutdown()


@contextmanager
def _connected(address: str | None, workers: int | None) -> Iterator[bool]:
    """Connect to a cluster, or start Ray here, with no more CPUs than may work; whether it is ours."""
    if find_spec("ray") is None:
        raise UsageError("packing on a cluster needs Ray", hint="pip install 'penstock[ray]'")
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        yield False  # the caller's
    elif address is None:
        with started_here(workers):
            yield True
    else:
        _see_that_it_answers(address)
        _init(address=address)
        try:
            yield False
        finally:
            sys.modules["ray"].shutdown()


def _see_that_it_answers(address: str) -> None:
    """Find out in seconds what Ray finds out in minutes; names that only Ray knows (auto, ray://…) are left to it."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_IN_S).close()
    except (OSError, OverflowError) as error:
        hint = "take the address that `ray start --head` printed, or leave it out to start Ray on this machine"
        raise UsageError("no Ray cluster answers at this address", got=f"{address}: {error}", hint=hint) from error


def _init(**options: Any) -> None:
    import ray

    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        got, hint = _first_line(error), "see `ray status`; without --address Ray is started on this machine"
        raise UsageError("the Ray cluster cannot be used", got=got, hint=hint) from error


@contextmanager
def _quiet_and_local() -> Iterator[None]:
    """Set what Ray takes from the environment only: a Ray of our own tells nobody of itself and hears nobody.

    The last name is Ray's switch for systems where it has no clusters: there it keeps to the loopback interface.
    """
    wanted = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_TOKEN": _TOKEN,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }
    before = {name: os.environ.get(name) for name in (*wanted, "RAY_AUTH_MODE")}  # Ray sets the last one itself
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _node() -> str:
    """Say which node this is."""
    import ray

    return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
