"""The numbered files of a dataset, in whatever store, with or without a cache: the last step of every read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from penstock.storage.cached_files import CachedFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from penstock.storage.cache import Cache
    from penstock.storage.ranges import ReadPlan
    from penstock.storage.store import Arrival, Failure, Store
    from penstock.types import CacheStatistics, StoreStatistics

__all__ = ["Files", "JoinedFiles", "StoredFiles"]


class Files(Protocol):
    """Files by number."""

    @property
    def is_local(self) -> bool:
        """Whether what is read is in the page cache of this machine afterwards."""

    @property
    def under_way_bytes(self) -> int:
        """How much may be on its way in memory that is not the caller's, whoever reads how much."""

    @property
    def copies(self) -> int:
        """How often the bytes that a caller waits for are in memory: 2 where they pass a cache on their way."""

    def statistics(self) -> tuple[list[StoreStatistics], list[CacheStatistics]]:
        """Tell what reading has come to in this process: for each object store, and for each cache."""

    def begin(self, reads: ReadPlan, block: NDArray[np.uint8], *, ways: NDArray[np.uint8] | None = None) -> Arrival:
        """Begin to read, see `Store.begin`."""

    def forget(self, reads: ReadPlan) -> None:
        """Keep nothing of what these reads bring: it is not right."""


@final
class StoredFiles:
    """Files of one store.

    `names` says what some are called: there may be millions, so only of those that are read. So does `sizes`, if every
    file is to have the size that it had.
    """

    def __init__(
        self,
        store: Store,
        names: Callable[[NDArray[np.int32]], list[str]],
        sizes: Callable[[NDArray[np.int32]], list[int]] | None = None,
    ) -> None:
        self.store, self._names, self._sizes = store, names, sizes
        self.cached: CachedFiles | None = None

    def keep_in(self, cache: Cache, digest: str, file_bytes: NDArray[np.int64]) -> None:
        """Read through a cache from now on."""
        self.cached = CachedFiles(cache, self.store, digest, file_bytes)

    @property
    def is_local(self) -> bool:
        """Whether what is read is in the page cache of this machine afterwards."""
        return self.store.is_local and self.cached is None

    @property
    def under_way_bytes(self) -> int:
        """How much may be on its way."""
        return self.store.under_way_bytes

    @property
    def copies(self) -> int:
        """How often the bytes that a caller waits for are in memory."""
        return 1 if self.cached is None else 2

    def statistics(self) -> tuple[list[StoreStatistics], list[CacheStatistics]]:
        """Tell what reading has come to in this process."""
        found = self.store.statistics()
        return ([] if found is None else [found]), ([] if self.cached is None else [self.cached.shelf.statistics()])

    def begin(self, reads: ReadPlan, block: NDArray[np.uint8], *, ways: NDArray[np.uint8] | None = None) -> Arrival:
        """Begin to read."""
        files, positions = np.unique(reads.file, return_inverse=True)
        plan, names = replace(reads, file=positions.astype(np.int32)), self._names(files)
        sizes = None if self._sizes is None or self.store.is_local else self._sizes(files)
        if self.cached is not None:
            return self.cached.begin(files, names, plan, block, sizes=sizes)
        return self.store.begin(names, plan, block, ways=ways, sizes=sizes)

    def forget(self, reads: ReadPlan) -> None:
        """Keep nothing of what these reads bring: it is not right."""
        if self.cached is not None:
            files, positions = np.unique(reads.file, return_inverse=True)
            self.cached.forget(files, replace(reads, file=positions.astype(np.int32)))


@final
class JoinedFiles:
    """The files of several datasets, numbered one after another."""

    def __init__(self, parts: Sequence[Files], first: NDArray[np.int64]) -> None:
        self._parts, self._first = parts, first  # the number of each part's first file
        self.is_local = all(part.is_local for part in parts)
        self.under_way_bytes = sum(part.under_way_bytes for part in parts)
        self.copies = max(part.copies for part in parts)

    def by_part(self, files: NDArray[np.int32]) -> list[tuple[int, int, NDArray[np.intp]]]:
        """Sort files by the part that they belong to: its number, its first file's, which of the files."""
        part = np.searchsorted(self._first, files, side="right") - 1
        return [(at, int(self._first[at]), np.flatnonzero(part == at)) for at in np.unique(part).tolist()]

    def statistics(self) -> tuple[list[StoreStatistics], list[CacheStatistics]]:
        """Tell what reading has come to in this process: that of every part."""
        found = [part.statistics() for part in self._parts]
        return [one for stores, _ in found for one in stores], [one for _, caches in found for one in caches]

    def begin(self, reads: ReadPlan, block: NDArray[np.uint8], *, ways: NDArray[np.uint8] | None = None) -> Arrival:
        """Begin to read, from each part what lies in it."""
        arrivals = []
        for part, first, where in self.by_part(reads.file):
            some = None if ways is None else ways[where]
            arrivals.append((where, self._parts[part].begin(self._of(reads, where, first), block, ways=some)))
        return _Arrivals(arrivals)

    def forget(self, reads: ReadPlan) -> None:
        """Keep nothing of what these reads bring."""
        for part, first, where in self.by_part(reads.file):
            self._parts[part].forget(self._of(reads, where, first))

    @staticmethod
    def _of(reads: ReadPlan, where: NDArray[np.intp], first: int) -> ReadPlan:
        return reads.part(where, file=reads.file[where] - first)


@final
@dataclass(frozen=True, slots=True)
class _Arrivals:
    """Bytes under way from several places; with each its reads, by their numbers in the whole plan."""

    parts: list[tuple[NDArray[np.intp], Arrival]]

    def failures(self) -> list[Failure]:
        """Wait for all of them."""
        return [
            replace(failure, read=int(where[failure.read])) for where, one in self.parts for failure in one.failures()
        ]

    def cancel(self) -> None:
        """Stop all of them."""
        for _, one in self.parts:
            one.cancel()
