"""A cache on a local disk for data that is far away, or on a slow file system: filled once, never churned.

A cache that makes room for what is new gives nothing to who reads everything once per epoch: what it throws out is just
what comes next. So this one keeps the first bytes of a dataset, counted through its files one after another, as many as
it has been given; the rest is fetched each time. Half a dataset kept is half of every epoch found, whatever its order.

    FOLDER/lock                              held while shares are dealt out
    FOLDER/<dataset>/share.json              which dataset, how large, how much of it is kept
    FOLDER/<dataset>/in-use                  held (shared) by every process that has it open
    FOLDER/<dataset>/00003/00000000c1300000  a block: its bytes, then their checksum; named by its place in the dataset
    FOLDER/<dataset>/counters-…              what processes have found and not found

Blocks appear whole, by renaming, so several processes fill one cache and a killed one leaves nothing half done. Nothing
is synced: what a power cut leaves of a block does not match its checksum and is fetched again. Room is taken only from
datasets that nobody has open, the one unused for longest first, and then all of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import struct
import threading
import time
import weakref
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, final

from penstock.errors import UsageError
from penstock.storage.location import is_url
from penstock.types import CacheStatistics

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BLOCK_BYTES", "FOOTER", "MARK", "Cache", "Shelf"]

BLOCK_BYTES = 2**20
FOOTER = struct.Struct("<I4s")  # checksum, and a mark: a block is as long as its bytes and this
MARK = b"pen1"
COUNTED = frozenset(field.name for field in fields(CacheStatistics))
COUNTERS_SECONDS = 1.0  # between two notes of the counters
FREE_SHARE = 0.9  # of what the disk has free, where no size is given


@final
@dataclass(frozen=True, slots=True)
class Cache:
    """A folder on a local disk, and how many bytes of datasets may be kept there (default: nine tenths of its disk)."""

    folder: str
    size_bytes: int | None = None

    def __post_init__(self) -> None:
        if is_url(self.folder):
            raise UsageError("a cache is a folder on a local disk", file=self.folder, expected="a path")

    @classmethod
    def of(cls, given: Cache | str | os.PathLike[str]) -> Cache:
        """Take a folder for a cache."""
        return given if isinstance(given, Cache) else cls(os.fspath(given))

    def most_bytes(self) -> int:
        """Count the bytes that may be kept."""
        if self.size_bytes is not None:
            return self.size_bytes
        kept = sum(share["kept_bytes"] for _, share in _shares(self.folder))
        return int(FREE_SHARE * (shutil.disk_usage(self.folder).free + kept))


@final
class Shelf:
    """One dataset's part of a cache: its folder, held open, and how many of its bytes are kept there."""

    def __init__(self, cache: Cache, digest: str, *, place: str, total_bytes: int) -> None:
        self.folder = os.path.join(cache.folder, digest[:32])
        self._counters: Counter[str] = Counter()
        try:
            os.makedirs(self.folder, exist_ok=True)
            handle = os.open(os.path.join(self.folder, "in-use"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            weakref.finalize(self, os.close, handle)
            with _locked(cache.folder):
                fcntl.flock(handle, fcntl.LOCK_SH)
                _merge_counters(self.folder)
                self.kept_bytes = _dealt(cache, self.folder, total_bytes)
                share = {"place": place, "total_bytes": total_bytes, "kept_bytes": self.kept_bytes}
                _write_json(os.path.join(self.folder, "share.json"), share)
        except OSError as error:
            hint = "choose another folder for the cache, on a local disk"
            raise UsageError(f"the cache cannot be used: {error.strerror}", file=cache.folder, hint=hint) from error
        self._lock, self._noted = threading.Lock(), time.monotonic()
        self._counters_file = os.path.join(self.folder, f"counters-{os.getpid()}-{id(self):x}")
        weakref.finalize(self, _note, os.getpid(), self._counters_file, self._counters)

    def path(self, place: int) -> str:
        """Say where the block is that begins at this place of the dataset."""
        return os.path.join(self.folder, f"{place >> 30:05d}", f"{place:016x}")

    def count(self, **counts: int) -> None:
        """Count what was asked of the cache, and write it down for others to see, not too often."""
        with self._lock:
            self._counters.update(counts)
            if time.monotonic() - self._noted >= COUNTERS_SECONDS:
                self._noted = time.monotonic()
                _note(os.getpid(), self._counters_file, self._counters)

    def statistics(self) -> CacheStatistics:
        """Tell what this process has asked of it."""
        with self._lock:
            return CacheStatistics(**self._counters)

    @staticmethod
    def summary(cache: Cache, digest: str) -> dict[str, Any]:
        """Say what a cache holds of a dataset, and what has been asked of it; JSON's values."""
        folder = os.path.join(cache.folder, digest[:32])
        share = next((share for path, share in _shares(cache.folder) if path == folder), None)
        if share is None:
            return {"folder": cache.folder, "kept_bytes": 0, "filled_bytes": 0}
        filled = sum(size - FOOTER.size for _, size in _blocks(folder))
        asked = sum((_counted(path) for path in _counters(folder)), Counter[str]())
        return {"folder": cache.folder, **share, "filled_bytes": filled, **asdict(CacheStatistics(**asked))}


def _dealt(cache: Cache, folder: str, total: int) -> int:
    """Deal out room for a dataset: as much as there is, after that of datasets nobody uses is taken back if needed."""
    others = [(path, share) for path, share in _shares(cache.folder) if path != folder]
    room = cache.most_bytes() - sum(share["kept_bytes"] for _, share in others)
    for path, share in sorted(others, key=lambda other: os.path.getmtime(os.path.join(other[0], "share.json"))):
        if room >= total:
            break
        if _removed(path):
            room += share["kept_bytes"]
    kept: int = max(min(room, total), 0)
    for path, _ in _blocks(folder):
        if int(os.path.basename(path), 16) >= kept:  # the cache was made smaller
            os.unlink(path)
    return kept


def _removed(folder: str) -> bool:
    """Remove a dataset that nobody has open."""
    try:
        handle = os.open(os.path.join(folder, "in-use"), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(handle)


def _shares(folder: str) -> list[tuple[str, dict[str, Any]]]:
    """List the datasets in a cache."""
    found = []
    with suppress(FileNotFoundError):
        for entry in os.scandir(folder):
            with suppress(OSError, ValueError):
                found.append((entry.path, _read_json(os.path.join(entry.path, "share.json"))))
    return found


def _blocks(folder: str) -> Iterator[tuple[str, int]]:
    """List the blocks of a dataset: path, size."""
    for place in os.scandir(folder):
        if place.name.isdigit() and place.is_dir():
            for entry in os.scandir(place.path):
                if "." not in entry.name:
                    with suppress(FileNotFoundError):
                        yield entry.path, entry.stat().st_size


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    handle = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _counters(folder: str) -> list[str]:
    return [
        os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("counters") and "." not in name
    ]


def _counted(path: str) -> Counter[str]:
    try:
        return Counter({name: int(count) for name, count in _read_json(path).items() if name in COUNTED})
    except (OSError, ValueError, TypeError):
        return Counter()


def _merge_counters(folder: str) -> None:
    """Add the counters of processes that have ended into one file."""
    ended = [path for path in _counters(folder) if not os.path.exists(f"/proc/{path.split('-')[-2]}")]
    if len(ended) > 1:
        total = sum((_counted(path) for path in ended), Counter[str]())
        _write_json(os.path.join(folder, "counters-0-all"), dict(total))
        for path in ended:
            if not path.endswith("-all"):
                os.unlink(path)


def _note(pid: int, path: str, counters: Counter[str]) -> None:
    if pid == os.getpid():  # not in a child made by fork, whose counts are not its own
        with suppress(OSError):
            _write_json(path, dict(counters))


def _write_json(path: str, content: dict[str, Any]) -> None:
    growing = f"{path}.{os.getpid()}-{threading.get_ident()}"
    with open(growing, "w", encoding="utf-8") as file:
        json.dump(content, file)
    os.replace(growing, path)


def _read_json(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
        return found
