"""What a run costs besides time: processor seconds, memory and device reads, of this process and all below it.

Read from /proc, because a peer's worker processes are nobody's to ask: resource usage of children is only known after
they have ended. Where there is no /proc the costs are None: not measured, never zero.

Memory is the proportional set size (a page shared by n processes counts 1/n in each), so that forked workers, which
share most pages, are not counted several times. Device bytes show whether a run was really served from the page cache.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cost", "cpu_seconds", "processes_below", "processes_of_group"]

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Cost:
    """Running totals of a process tree at one moment."""

    cpu_seconds: float
    device_read_bytes: int
    memory_bytes: int

    @classmethod
    def now(cls, pid: int | None = None) -> Cost | None:
        """Sum up the processes below and including `pid` (this one by default)."""
        if not (PROC / "self" / "stat").exists():
            return None
        tree = processes_below(os.getpid() if pid is None else pid)
        return cls(
            cpu_seconds=_cpu_seconds(tree),
            device_read_bytes=sum(_field(process, "io", "read_bytes:") for process in tree),
            memory_bytes=sum(_field(process, "smaps_rollup", "Pss:") * 1024 for process in tree),
        )


def cpu_seconds(pid: int) -> float | None:
    """Sum up the processor seconds so far of `pid` and the processes below it; a server's, read from outside."""
    return _cpu_seconds(processes_below(pid)) if (PROC / "self" / "stat").exists() else None


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


def _cpu_seconds(tree: list[int]) -> float:
    return sum(_cpu_ticks(process) for process in tree) / os.sysconf("SC_CLK_TCK")


def _cpu_ticks(pid: int) -> int:
    fields = _stat(pid)
    # utime, stime, and those of children already waited for (a worker that ended within the window still counts).
    return sum(int(field) for field in fields[11:15]) if fields else 0


def _field(pid: int, file: str, name: str) -> int:
    try:
        lines = (PROC / str(pid) / file).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
