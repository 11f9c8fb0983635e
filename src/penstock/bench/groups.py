"""Control groups: a small memory, a slow disk. Both versions of the interface; both want root, or a delegated group.

The emulated hard disk is a limit on bytes and on requests per second for one device: 150 MB/s and 120 requests/s are
those of a disk of 7,200 turns. Unlike a real one it asks the same for near and far requests, and counts what the system
splits, so that it is harder on sequential reading and easier on seeking than the real thing.

A group is made for one run and removed after it. A process joins by writing its number into `cgroup.procs`.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DISK", "ROOT", "Disk", "disk", "lacking", "limited"]

ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Disk:
    """What an emulated disk gives at the most."""

    bytes_per_second: int
    requests_per_second: int


DISK = Disk(150_000_000, 120)


def _folder(controller: str, root: Path) -> tuple[Path, int] | None:
    """Find where groups of this controller are made, and which version of the interface that is; None: nowhere."""
    own = root / controller
    if (own / "cgroup.procs").exists():
        return own, 1
    controllers = root / "cgroup.controllers"
    name = {"blkio": "io"}.get(controller, controller)
    if controllers.exists() and name in controllers.read_text().split():
        return root, 2
    return None


def lacking(controller: str, root: Path | None = None) -> str | None:
    """Say what is not there for groups of this controller ("memory", "blkio"); None where all is."""
    root = root or ROOT
    found = _folder(controller, root)
    if found and os.access(found[0], os.W_OK):
        return None
    return f"control groups, with {controller} in {root}, and to be root"


@contextmanager
def _group(controller: str, limits: dict[int, dict[str, str]], root: Path | None) -> Iterator[Path]:
    root = root or ROOT
    needed, found = lacking(controller, root), _folder(controller, root)
    if needed or found is None:
        raise UsageError("no limits can be set here", expected=needed)
    folder, version = found
    if version == 2:
        enabled, name = folder / "cgroup.subtree_control", {"blkio": "io"}.get(controller, controller)
        if name not in enabled.read_text().split():
            enabled.write_text(f"+{name}")
    made = folder / f"penstock-{os.getpid()}"
    made.mkdir()
    try:
        for file, value in limits[version].items():
            (made / file).write_text(value)
        yield made
    finally:
        made.rmdir()


@contextmanager
def limited(size_bytes: int, *, root: Path | None = None) -> Iterator[Path]:
    """Make a group with so much memory, the page cache of its files included; give its folder."""
    limits = {1: {"memory.limit_in_bytes": str(size_bytes)}, 2: {"memory.max": str(size_bytes)}}
    with _group("memory", limits, root) as folder:
        yield folder


@contextmanager
def disk(data: Path, speed: Disk = DISK, *, root: Path | None = None) -> Iterator[Path]:
    """Make a group for which the device that holds `data` is slow; give its folder."""
    number = data.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    limits = {
        1: {
            "blkio.throttle.read_bps_device": f"{device} {speed.bytes_per_second}",
            "blkio.throttle.read_iops_device": f"{device} {speed.requests_per_second}",
        },
        2: {"io.max": f"{device} rbps={speed.bytes_per_second} riops={speed.requests_per_second}"},
    }
    with _group("blkio", limits, root) as folder:
        yield folder
