"""Reads of a plan as requests: cut into pieces, put together, and compared with what the store says of the whole.

Pieces are of a size that suits the way to the store (link.py), so that a long read is many requests that run side by
side. A read that fails has arrived up to its first missing piece. One that is a whole object is compared with the
object's ETag, where that is a sum of its bytes (etag.py), and made again where it differs.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from penstock.errors import PenstockError
from penstock.storage.retry import Garbled, explained, wait_seconds
from penstock.storage.store import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.storage.etag import Etags
    from penstock.storage.fetch import Fetcher
    from penstock.storage.ranges import ReadPlan

__all__ = ["Reads"]


class _Read(NamedTuple):
    """A read of a plan."""

    number: int
    name: str
    start: int  # in the object
    stop: int
    into: int  # in the block
    size: int | None  # that the object must have; None: any


class _Brought(NamedTuple):
    """What became of a read, or of a piece of one."""

    etags: set[str | None]  # of the object, as the pieces had them
    failure: Failure | None


@final
@dataclass(frozen=True, slots=True)
class Reads:
    """What plans read of some objects: of these names, and of these sizes where they are known."""

    fetcher: Fetcher
    etags: Etags | None  # None: nothing is compared with them
    names: Sequence[str]
    sizes: Sequence[int] | None

    async def carry_out(self, plan: ReadPlan, block: NDArray[np.uint8]) -> list[Failure]:
        """Fetch all reads of a plan; those that lack something."""
        reads = zip(plan.file.tolist(), plan.offset.tolist(), plan.length.tolist(), plan.position.tolist(), strict=True)
        bringing = []
        for number, (file, start, length, into) in enumerate(reads):
            size = None if self.sizes is None else self.sizes[file]
            read = _Read(number, self.names[file], start, start + length, into, size)
            is_whole = start == 0 and length == size
            bringing.append((self._whole if is_whole else self._parts)(read, block))
        return [found.failure for found in await asyncio.gather(*bringing) if found.failure is not None]

    async def _whole(self, read: _Read, block: NDArray[np.uint8]) -> _Brought:
        """Fetch a whole object, again if it is not what its ETag says."""
        deadline, attempt = time.monotonic() + self.fetcher.requests.deadline_seconds, 0
        while True:
            found = await self._parts(read, block)
            if found.failure is not None or self.etags is None or read.stop == 0:
                return found
            try:
                await self.etags.check(read.name, found.etags, block[read.into : read.into + read.stop].data)
            except Garbled as error:
                attempt += 1
                wait = wait_seconds(attempt - 1, 0.5)
                if time.monotonic() + wait >= deadline:
                    told = explained(error, f"{self.fetcher.place}/{read.name}", attempts=attempt)
                    return _Brought(found.etags, Failure(read.number, 0, told))
            else:
                return found
            self.fetcher.repeat()
            await asyncio.sleep(wait)

    async def _parts(self, read: _Read, block: NDArray[np.uint8]) -> _Brought:
        """Fetch all pieces of a read."""
        pieces = _pieces(read.start, read.stop, self.fetcher.link.request_bytes)
        if len(pieces) == 1:  # mostly, and then there is nothing to gather
            return await self._piece(read, *pieces[0], block)
        found = await asyncio.gather(*(self._piece(read, start, stop, block) for start, stop in pieces))
        failure = next((one.failure for one in found if one.failure is not None), None)  # pieces come in order
        return _Brought(set().union(*(one.etags for one in found)), failure)

    async def _piece(self, read: _Read, start: int, stop: int, block: NDArray[np.uint8]) -> _Brought:
        before, into = start - read.start, read.into + start - read.start
        try:
            data, etag = await self.fetcher.fetch(read.name, start, stop, size=read.size)
        except PenstockError as error:
            return _Brought(set(), Failure(read.number, before, error))
        block[into : into + len(data)] = np.frombuffer(data, np.uint8)
        is_short = len(data) < stop - start
        return _Brought({etag}, Failure(read.number, before + len(data), None) if is_short else None)


def _pieces(start: int, stop: int, most: int) -> list[tuple[int, int]]:
    """Cut a range into pieces of about equal size, none much larger than `most`; none of an empty one."""
    parts = max(round((stop - start) / most), 1)
    ends = [start + (stop - start) * part // parts for part in range(parts + 1)]
    return [(begin, end) for begin, end in itertools.pairwise(ends) if end > begin]
