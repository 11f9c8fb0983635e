"""The page cache: put into a state before a run, and proven before and after. "Cold" that was not is called so.

    warm      every file read through; at least 99 % of the pages are in the cache (mincore), and stay there
    cold      every file let go of (fadvise, no root needed); at most 1 % of the pages remain, and at least 95 % of the
              bytes then come from the device
    dropped   the same, by drop_caches: root, and it empties the cache of the whole machine
    limited   in a memory control group smaller than the data: the steady state of data that do not fit; a run reads
              what it reads, and that is noted
    disk      cold, in a control group for which the device is a slow disk

Files that some process has mapped are not let go of, whatever is asked: that shows in mincore. Below a virtual machine
there may be a host with a cache of its own, about which nothing can be known here. On the emulated disk that does not
matter: its limit is below what a host serves.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import StorageError, UsageError
from penstock.results import Cache, Gate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["STATES", "drop", "enter", "files_below", "found", "gate", "proof", "residency", "resident_share", "warm"]

STATES = ("warm", "cold", "dropped", "limited", "disk")
WARM_SHARE, COLD_SHARE = 0.99, 0.01
READ_SHARE = 0.95  # of the payload, to come from the device in a run that is cold
NOT_WARM = 0.02  # of the payload, from the device in a run that is warm
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
STEP = 8 * 2**20


def files_below(*roots: Path) -> list[Path]:
    """List all files: of folders all that is in them."""
    return [p for root in roots for p in ([root] if root.is_file() else sorted(root.rglob("*"))) if p.is_file()]


def residency(descriptor: int) -> tuple[int, int]:
    """Count a file's pages, and those in the page cache."""
    size = os.fstat(descriptor).st_size
    if not size:
        return 0, 0
    pages = -(-size // mmap.PAGESIZE)
    counted = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    view = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if view == ctypes.c_void_p(-1).value:
        raise StorageError("a file cannot be mapped", got=os.strerror(ctypes.get_errno()))
    address, length = ctypes.c_void_p(view), ctypes.c_size_t(size)
    try:
        if libc.mincore(address, length, counted) != 0:
            raise StorageError("the page cache cannot be asked", got=os.strerror(ctypes.get_errno()))
    finally:
        libc.munmap(address, length)
    return pages, sum(page & 1 for page in counted)


def resident_share(paths: Iterable[Path]) -> float | None:
    """Tell which share of the files' pages is in the page cache; None for files without a page."""
    total = resident = 0
    for path in paths:
        with path.open("rb") as file:
            pages, here = residency(file.fileno())
            total, resident = total + pages, resident + here
    return resident / total if total else None


def warm(paths: Iterable[Path]) -> None:
    """Read every file through."""
    buffer = bytearray(STEP)
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def drop(paths: Iterable[Path]) -> None:
    """Have the page cache let go of files; what a process has mapped stays."""
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())  # only pages that the device has can be let go of
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def enter(state: str, paths: Sequence[Path]) -> str:
    """Bring files into a state; what was done, in words."""
    if state not in STATES:
        raise UsageError("no such state of the cache", got=state, expected=f"one of {', '.join(STATES)}")
    if state == "warm":
        warm(paths)
        return "read through"
    drop(paths)
    if state != "dropped":
        return "fsync and POSIX_FADV_DONTNEED"
    if not os.access(DROP_CACHES, os.W_OK):
        raise UsageError("only root may drop the caches of a machine", got="dropped", hint="'cold' needs no root")
    os.sync()
    DROP_CACHES.write_text("3")
    return "drop_caches 3"


def found(before: float | None, payload_bytes: int, device_read_bytes: int | None) -> str:
    """Name the state that the numbers show: "warm", "cold", "mixed", or "not known"."""
    if before is None or device_read_bytes is None:
        return "not known"
    if before >= WARM_SHARE and device_read_bytes <= NOT_WARM * payload_bytes:
        return "warm"
    if before <= COLD_SHARE and device_read_bytes >= READ_SHARE * payload_bytes:
        return "cold"
    return "mixed"


def proof(
    asked: str,
    how: str,
    *,
    resident: tuple[float | None, float | None],
    payload_bytes: int,
    device_read_bytes: int | None,
) -> Cache:
    """Put down what was asked for and what was found; `resident` is the share before and after."""
    before, after = resident
    return Cache(
        asked=asked,
        found=found(before, payload_bytes, device_read_bytes),
        how=how,
        resident_before=before,
        resident_after=after,
        payload_bytes=payload_bytes,
        device_read_bytes=device_read_bytes,
    )


def gate(cache: Cache) -> Gate:
    """Check that the cache was as asked; what cannot be known passes no gate but that of "limited"."""
    expected = {"dropped": "cold", "disk": "cold"}.get(cache.asked, cache.asked)
    share = "?" if cache.resident_before is None else f"{cache.resident_before:.1%}"
    read = "?" if cache.device_read_bytes is None else f"{cache.device_read_bytes:,}"
    got = f"{cache.found}: {share} resident before, {read} of {cache.payload_bytes or 0:,} bytes from the device"
    return Gate(name="cache", passed=expected in {"limited", cache.found}, got=got, expected=expected)
