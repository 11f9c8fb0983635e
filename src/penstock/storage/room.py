"""How much of the data the page cache can keep, and which part of it that shall be.

A page cache throws out what was used longest ago. A loader uses every byte once per epoch, so of data that is larger
than the cache each byte is thrown out just before its turn comes again: the cache gives nothing, whatever its size,
and meanwhile it throws out what others had in it. So no more goes through the cache than it has room for, always the
same files; the others are read past it. Then each epoch finds those files there, whatever its order.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from penstock.storage.local import DIRECT, GENEROUS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["room_bytes", "ways_within"]

KEPT = 0.8  # of the room: the rest is for whatever else the machine does


def ways_within(file_bytes: NDArray[np.int64], room: int) -> NDArray[np.uint8]:
    """Say for each file how to read it: as many as there is room for, from the first on, through the page cache."""
    total = np.cumsum(file_bytes)
    return np.where(total <= KEPT * room, GENEROUS, DIRECT).astype(np.uint8)


def room_bytes() -> int:
    """Count the memory that files may fill: what is free in the system and in the control groups of this process.

    What the page cache holds counts as free. 0 where the system does not say.
    """
    rooms = [_room_of_system()]
    with suppress(OSError), open("/proc/self/cgroup") as file:
        for line in file:
            _, controllers, group = line.rstrip("\n").split(":", 2)
            if controllers in {"", "memory"}:
                rooms += _rooms_of_groups(group, *(V1 if controllers else V2))
    return max(min(rooms), 0)


# Where control groups of either version are, and what their files and numbers are called.
V1 = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "total_rss")
V2 = ("/sys/fs/cgroup", "memory.max", "anon")


def _room_of_system() -> int:
    with suppress(OSError), open("/proc/meminfo") as file:
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
