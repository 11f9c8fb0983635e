"""Reading through a cache: what it has is taken, what it should have is fetched and kept, the rest is fetched.

A read of a plan is cut at the bounds of blocks. Blocks that are missing are fetched whole, neighbours in one read, into
memory of their own; from there their parts are copied to where the caller wants them, and the blocks go into the cache
once they have arrived.
"""

from __future__ import annotations

import logging
import os
import threading
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from penstock.storage.cache import BLOCK_BYTES, FOOTER, MARK, Cache, Shelf
from penstock.storage.local import fill_block
from penstock.storage.ranges import ReadPlan
from penstock.storage.store import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from penstock.storage.store import Arrival, Store

__all__ = ["CachedFiles"]


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a read that lies in one block."""

    read: int
    file: int  # by its number in the dataset
    name: int  # by its position among the plan's names
    block: int  # by its number in the file
    start: int  # in the block
    stop: int
    into: int  # in the caller's memory

    @property
    def key(self) -> tuple[int, int]:
        """Name the block."""
        return self.file, self.block


@final
class CachedFiles:
    """The files of one dataset, read through a cache. May be used from several threads."""

    def __init__(self, cache: Cache, store: Store, digest: str, file_bytes: NDArray[np.int64]) -> None:
        self._store, self._file_bytes = store, file_bytes
        self._begins = np.cumsum(file_bytes) - file_bytes
        self.shelf = Shelf(cache, digest, place=store.place, total_bytes=int(file_bytes.sum()))
        self._has_room = True

    def begin(
        self,
        files: NDArray[np.int32],
        names: Sequence[str],
        plan: ReadPlan,
        block: NDArray[np.uint8],
        *,
        sizes: Sequence[int] | None = None,
    ) -> Arrival:
        """Begin to carry out a plan whose files are positions in `names`, and in `files`, their numbers."""
        parts, rest = self._cut(files.tolist(), plan)
        held = self._held(sorted({part.key for part in parts}))
        missing = {part.key: part.name for part in parts if part.key not in held}
        hits = sum(part.stop - part.start for part in parts if part.key in held)
        asked = sum(part.stop - part.start for part in parts)
        self.shelf.count(hit_bytes=hits, missed_bytes=asked - hits, passed_bytes=int(rest.length.sum()))
        fetch, blocks = self._plan(missing)
        room = np.empty(fetch.block_bytes, np.uint8)
        under_way = [
            self._store.begin(names, plan, memory, sizes=sizes)
            for plan, memory in ((fetch, room), (rest, block))
            if len(plan)
        ]
        return _Through(self, parts, held, blocks, room, rest, block, under_way)

    def _cut(self, files: list[int], plan: ReadPlan) -> tuple[list[_Part], ReadPlan]:
        """Cut reads into parts of blocks that belong into the cache, and plain reads of what does not."""
        parts: list[_Part] = []
        rest: list[tuple[int, ...]] = []
        reads = zip(plan.file.tolist(), plan.offset.tolist(), plan.length.tolist(), plan.position.tolist(), strict=True)
        for read, (name, offset, length, position) in enumerate(reads):
            file = files[name]
            # Of a file those blocks belong into the cache that begin within the kept bytes.
            belong = -(-(self.shelf.kept_bytes - int(self._begins[file])) // BLOCK_BYTES) * BLOCK_BYTES
            at, stop = offset, min(offset + length, belong, int(self._file_bytes[file]))
            while at < stop:
                block, start = divmod(at, BLOCK_BYTES)
                size = min(BLOCK_BYTES - start, stop - at)
                parts.append(_Part(read, file, name, block, start, start + size, position + at - offset))
                at += size
            if at < offset + length:
                rest.append((name, at, offset + length - at, position + at - offset, read))
        names, begins, lengths, places, numbers = np.array(rest, np.int64).reshape(-1, 5).T
        total = int(lengths.sum())
        return parts, ReadPlan(names.astype(np.int32), begins, lengths, places, places, numbers, total)

    def size(self, key: tuple[int, int]) -> int:
        """Count a block's bytes."""
        return min(BLOCK_BYTES, int(self._file_bytes[key[0]]) - key[1] * BLOCK_BYTES)

    def _path(self, key: tuple[int, int]) -> str:
        return self.shelf.path(int(self._begins[key[0]]) + key[1] * BLOCK_BYTES)

    def _held(self, keys: list[tuple[int, int]]) -> dict[tuple[int, int], NDArray[np.uint8]]:
        """Read those of some blocks that are in the cache, and are what they were."""
        if not keys:
            return {}
        lengths = np.array([self.size(key) + FOOTER.size for key in keys], np.int64)
        starts = np.cumsum(lengths) - lengths
        room, numbers = np.empty(int(lengths.sum()), np.uint8), np.arange(len(keys))
        plan = ReadPlan(numbers.astype(np.int32), np.zeros_like(starts), lengths, starts, starts, numbers, len(room))
        failed = {read for read, _, _ in fill_block([os.fsencode(self._path(key)) for key in keys], plan, room)}
        held = {}
        for number, key in enumerate(keys):
            data, footer = np.split(room[starts[number] : starts[number] + lengths[number]], [-FOOTER.size])
            if number in failed:
                continue
            if FOOTER.unpack(footer.data) == (zlib.crc32(data.data), MARK):
                held[key] = data
            else:
                self.shelf.count(damaged=1)
                self._drop(key)
        return held

    def _plan(self, missing: dict[tuple[int, int], int]) -> tuple[ReadPlan, dict[tuple[int, int], tuple[int, int]]]:
        """Plan to fetch whole blocks; for each the read that brings it, and where it will be."""
        runs: list[list[int]] = []  # name, offset, length, position
        blocks: dict[tuple[int, int], tuple[int, int]] = {}
        position = 0
        for key in sorted(missing):
            name, start, size = missing[key], key[1] * BLOCK_BYTES, self.size(key)
            if runs and runs[-1][0] == name and runs[-1][1] + runs[-1][2] == start:
                runs[-1][2] += size
            else:
                runs.append([name, start, size, position])
            blocks[key] = (len(runs) - 1, position)
            position += size
        name_, offset, length, into = np.array(runs, np.int64).reshape(-1, 4).T
        return ReadPlan(name_.astype(np.int32), offset, length, into, into, into, position), blocks

    def keep(self, key: tuple[int, int], data: NDArray[np.uint8]) -> None:
        """Put a block into the cache; where that does not work out, do without."""
        path = self._path(key)
        growing = f"{path}.{os.getpid()}-{threading.get_ident()}"
        if not self._has_room or os.path.exists(path):
            return
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(growing, "wb") as out:
                out.writelines((data.data, FOOTER.pack(zlib.crc32(data.data), MARK)))
            os.replace(growing, path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(growing)
            self._has_room = False
            what = "the cache in %s takes no more: %s; what is missing there is fetched each time"
            logging.getLogger("penstock").warning(what, self.shelf.folder, error.strerror)

    def forget(self, files: NDArray[np.int32], plan: ReadPlan) -> None:
        """Drop what some reads touch: what it holds is not right."""
        for key in {part.key for part in self._cut(files.tolist(), plan)[0]}:
            self._drop(key)

    def _drop(self, key: tuple[int, int]) -> None:
        with suppress(OSError):
            os.unlink(self._path(key))


@final
@dataclass(slots=True)
class _Through:
    """Reads that go through a cache, on their way."""

    cached: CachedFiles
    parts: list[_Part]
    held: dict[tuple[int, int], NDArray[np.uint8]]  # blocks that are here
    blocks: dict[tuple[int, int], tuple[int, int]]  # those under way: by which read, and where in the room
    room: NDArray[np.uint8]
    rest: ReadPlan
    block: NDArray[np.uint8]
    under_way: list[Arrival]  # of the blocks, if any; of the rest, if any
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def failures(self) -> list[Failure]:
        """Wait for what is fetched, keep it, and put all parts into their places."""
        with self._lock:
            arrivals = list(self.under_way)
            failed = self._kept(arrivals.pop(0).failures()) if self.blocks else {}
            found: dict[int, Failure] = {}
            for part, before in self._with_place():
                data = self.held.get(part.key)
                if data is not None:
                    self.block[part.into : part.into + part.stop - part.start] = data[part.start : part.stop]
                else:
                    found.setdefault(part.read, Failure(part.read, before, failed[part.key].error))
            for failure in arrivals.pop().failures() if arrivals else ():
                read = int(self.rest.read[failure.read])
                before = sum(part.stop - part.start for part in self.parts if part.read == read)
                found.setdefault(read, Failure(read, before + failure.arrived, failure.error))
            return list(found.values())

    def _kept(self, failures: list[Failure]) -> dict[tuple[int, int], Failure]:
        """Keep the blocks that have arrived; the failures of the others."""
        lost, failed = {failure.read: failure for failure in failures}, {}
        begins: dict[int, int] = {}
        for key, (read, position) in self.blocks.items():
            size, begin = self.cached.size(key), begins.setdefault(read, position)
            if read not in lost or position + size - begin <= lost[read].arrived:
                self.held[key] = self.room[position : position + size]
                self.cached.keep(key, self.held[key])
            else:
                failed[key] = lost[read]
        return failed

    def _with_place(self) -> Iterator[tuple[_Part, int]]:
        """Give each part with the number of bytes of its read before it."""
        begins: dict[int, int] = {}
        for part in self.parts:
            yield part, part.into - begins.setdefault(part.read, part.into)

    def cancel(self) -> None:
        """Give up what has not arrived."""
        for arrival in self.under_way:
            arrival.cancel()
