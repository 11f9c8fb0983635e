"""Control groups (version 1, as root) and the page cache: a slow disk and a small memory, and proof that data is cold.

The emulated hard disk is a limit on bytes and on requests per second for one device: 150 MB/s and 120 requests/s are
those of a disk of 7,200 turns. Unlike a real one it asks the same for near and far requests, and counts what the system
splits, so that it is harder on sequential reading and easier on seeking than the real thing.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path("/sys/fs/cgroup")
DISK = {"read_bps": 150_000_000, "read_iops": 120}


def lacking(controller: str) -> str | None:
    """Say what is not there for groups of this controller; None where all is."""
    folder = ROOT / controller
    if (folder / "cgroup.procs").exists() and os.access(folder, os.W_OK):
        return None
    return f"control groups of version 1, with {controller} in {ROOT}, and to be root"


@contextmanager
def group(controller: str, **limits: str) -> Iterator[Path]:
    """Make a control group with these limits; give the file into which a process writes its number to join."""
    folder = ROOT / controller / f"penstock-{os.getpid()}"
    if needed := lacking(controller):
        raise SystemExit(f"this needs {needed}")
    folder.mkdir()
    try:
        for name, value in limits.items():
            (folder / name.replace("__", ".")).write_text(value)
        yield folder
    finally:
        folder.rmdir()


@contextmanager
def disk(data: Path) -> Iterator[Path]:
    """Make a group for which the device that holds `data` is an emulated hard disk."""
    number = data.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    limits = {f"blkio__throttle__{name}_device": f"{device} {value}" for name, value in DISK.items()}
    with group("blkio", **limits) as folder:
        yield folder


def files_below(*roots: Path) -> list[Path]:
    """List all files."""
    return [path for root in roots for path in sorted(root.rglob("*")) if path.is_file()]


def drop(paths: Iterable[Path]) -> float:
    """Have the page cache let go of files; the share of them that it kept all the same."""
    pages = kept = 0
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            total, resident = residency(file.fileno())
            pages, kept = pages + total, kept + resident
    return kept / max(pages, 1)


def residency(descriptor: int) -> tuple[int, int]:
    """Count a file's pages, and those in the page cache."""
    size = os.fstat(descriptor).st_size
    if not size:
        return 0, 0
    pages = -(-size // mmap.PAGESIZE)
    found = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    view = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    address, length = ctypes.c_void_p(view), ctypes.c_size_t(size)
    try:
        if libc.mincore(address, length, found) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        libc.munmap(address, length)
    return pages, sum(page & 1 for page in found)
