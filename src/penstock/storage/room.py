"""How much of the data the page cache can keep, and which part of it that shall be.

A page cache throws out what was used longest ago. A loader uses every byte once per epoch, so of data that is larger
than the cache each byte is thrown out just before its turn comes again: the cache gives nothing, whatever its size,
and meanwhile it throws out what others had in it. So no more goes through the cache than it has room for, always the
same bytes; the others are read past it. Then each epoch finds those bytes there, whatever its order.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from penstock.storage.local import DIRECT, GENEROUS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from penstock.storage.ranges import ReadPlan

__all__ = ["Kept", "room_bytes"]

SHARE = 0.85  # of the room: the rest is for whatever else the machine does


@final
@dataclass(frozen=True, slots=True)
class Kept:
    """What the page cache keeps of some files: the first `size_bytes` of them, counted through one after another."""

    begins: NDArray[np.int64]  # of each file, in this counting
    size_bytes: int
    way: int  # to read these bytes

    @classmethod
    def of(cls, file_bytes: NDArray[np.int64], room: int, *, way: int = GENEROUS) -> Kept:
        """Keep as much as there is room for."""
        ends = np.cumsum(file_bytes)
        total, most = int(ends[-1]) if len(ends) else 0, int(SHARE * max(room, 0))
        return cls(ends - file_bytes, 2**62 if total <= most else most, way)  # reads may go beyond the end of a file

    def ways(self, files: NDArray[np.int32], plan: ReadPlan) -> NDArray[np.uint8]:
        """Say how to make each read of a plan, of these files."""
        ends = self.begins[files] + plan.offset + plan.length
        return np.where(ends <= self.size_bytes, self.way, DIRECT).astype(np.uint8)


def room_bytes(processes: str = "/proc", groups: str = "/sys/fs/cgroup") -> int:
    """Count the memory that files may fill: what is free in the system and in the control groups of this process.

    What the page cache holds counts as free. 0 where the system does not say. It says so in files below two folders.
    """
    rooms = [_room_of_system(processes)]
    with suppress(OSError), open(os.path.join(processes, "self", "cgroup")) as file:
        for line in file:
            _, controllers, group = line.rstrip("\n").split(":", 2)
            if controllers in {"", "memory"}:
                below, limit, used = V1 if controllers else V2
                rooms += _rooms_of_groups(group, os.path.join(groups, below), limit, used)
    return max(min(rooms), 0)


# Below which folder control groups of either version are, and what their files and numbers are called.
V1 = ("memory", "memory.limit_in_bytes", "total_rss")
V2 = ("", "memory.max", "anon")


def _room_of_system(processes: str) -> int:
    with suppress(OSError), open(os.path.join(processes, "meminfo")) as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def _rooms_of_groups(group: str, root: str, limit: str, used: str) -> Iterator[int]:
    """Give the limits of a group and of those around it, less what programs in it use."""
    while True:
        folder = os.path.join(root, group.strip("/"))
        with suppress(OSError, ValueError):  # no such file, or "max", which is no number: no limit
            with open(os.path.join(folder, limit)) as file:
                most = int(file.read())
            with open(os.path.join(folder, "memory.stat")) as file:
                numbers = dict(line.split(" ", 1) for line in file)
            yield most - int(numbers.get(used, 0))
        if group in {"", "/"}:
            return
        group = os.path.dirname(group)
