"""What a run costs besides time: processor seconds, memory and reads, of this process and all below it.

Read from /proc, because a peer's worker processes are nobody's to ask: resource usage of children is only known after
they have ended. Where there is no /proc the costs are None: not measured, never zero.

Memory is the proportional set size (a page shared by n processes counts 1/n in each), so that forked workers, which
share most pages, are not counted several times. Device bytes show whether a run was really served from the page cache;
bytes and calls of reading are what went through system calls, of files, pipes and sockets alike.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cost", "Memory", "cpu_seconds", "cpus_of", "processes_below", "processes_of_group"]

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Cost:
    """Running totals of a process tree at one moment."""

    user_seconds: float
    system_seconds: float
    device_read_bytes: int
    read_bytes: int
    read_calls: int
    major_faults: int

    @property
    def cpu_seconds(self) -> float:
        """Processor seconds, inside the kernel and outside."""
        return self.user_seconds + self.system_seconds

    @classmethod
    def now(cls, pid: int | None = None) -> Cost | None:
        """Sum up the processes below and including `pid` (this one by default)."""
        if not (PROC / "self" / "stat").exists():
            return None
        tree = processes_below(os.getpid() if pid is None else pid)
        stats, reads, tick = [_stat(process) for process in tree], [_io(process) for process in tree], _tick()
        # Each with that of children already waited for: a worker that ended within the window still counts.
        return cls(
            user_seconds=sum(int(fields[11]) + int(fields[13]) for fields in stats if fields) / tick,
            system_seconds=sum(int(fields[12]) + int(fields[14]) for fields in stats if fields) / tick,
            device_read_bytes=sum(found.get("read_bytes", 0) for found in reads),
            read_bytes=sum(found.get("rchar", 0) for found in reads),
            read_calls=sum(found.get("syscr", 0) for found in reads),
            major_faults=sum(int(fields[9]) + int(fields[10]) for fields in stats if fields),
        )

    def since(self, before: Cost) -> Cost:
        """Give what was spent between two moments."""
        return Cost(*(getattr(self, name) - getattr(before, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process tree holds at one moment. Slow to find out (milliseconds): never while a clock runs."""

    bytes: int
    processes: int
    threads: int

    @classmethod
    def now(cls, pid: int | None = None) -> Memory | None:
        """Look at the processes below and including `pid` (this one by default)."""
        if not (PROC / "self" / "smaps_rollup").exists():
            return None
        tree = processes_below(os.getpid() if pid is None else pid)
        found = [(_field(process, "smaps_rollup", "Pss:"), _stat(process)) for process in tree]
        threads = sum(int(fields[17]) for _, fields in found if fields)
        return cls(sum(kilobytes for kilobytes, _ in found) * 1024, len(tree), threads)


def cpu_seconds(pid: int) -> float | None:
    """Sum up the processor seconds so far of `pid` and the processes below it; a server's, read from outside."""
    cost = Cost.now(pid)
    return None if cost is None else cost.cpu_seconds


def cpus_of(tree: list[int]) -> set[int]:
    """Collect the CPUs that any thread of some processes may run on."""
    found: set[int] = set()
    for process in tree:
        with suppress(OSError):  # it, or one of its threads, has just ended
            threads = [int(entry.name) for entry in (PROC / str(process) / "task").iterdir()]
            found.update(*(os.sched_getaffinity(thread) for thread in threads))
    return found


def processes_below(pid: int) -> list[int]:
    """List `pid` and every process descended from it."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            children.setdefault(_parent(int(entry.name)), []).append(int(entry.name))
    tree = [pid]
    for process in tree:  # grows while it is walked
        tree += children.get(process, [])
    return tree


def processes_of_group(group: int) -> list[int]:
    """List the processes of a group that run; those that have ended and were not collected yet are left out."""
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()] if PROC.is_dir() else []
    stats = ((pid, _stat(pid)) for pid in pids)
    return [pid for pid, fields in stats if fields and fields[0] != "Z" and int(fields[2]) == group]


def _stat(pid: int) -> list[str]:
    """Read the fields of /proc/PID/stat behind the command, which may hold spaces; empty when the process is gone."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _tick() -> int:
    return os.sysconf("SC_CLK_TCK")


def _io(pid: int) -> dict[str, int]:
    """Read /proc/PID/io; empty when the process is gone, or another user's."""
    try:
        lines = (PROC / str(pid) / "io").read_text().splitlines()
    except OSError:
        return {}
    return {name: int(value) for name, _, value in (line.partition(": ") for line in lines)}


def _field(pid: int, file: str, name: str) -> int:
    try:
        lines = (PROC / str(pid) / file).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
