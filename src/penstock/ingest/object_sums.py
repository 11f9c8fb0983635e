"""Sums every object of a list: each is read once, many at a time, and what its bytes come to is noted as it goes.

Objects are read a few dozen at a time, in order, by several threads; that bounds both requests and memory. Where a
store's ETags are sums of the bytes, they have been compared by then: a byte that is damaged on its way here is fetched
again and not summed.

That may take hours, so it goes on where it was killed. A line for each object that was summed goes into a file of the
user's cache: key, size, stamp, checksum. The stamp is what a listing says of its content, an ETag or the time of the
last change: an object that has another size or stamp by now is read again, and so is one without a stamp. Once all are
summed the file goes: who asks again wants them read again. A line that a kill cut short is none.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from penstock.errors import SourceError
from penstock.ingest.source import shown
from penstock.pipeline import Pipeline, Stage
from penstock.shard.checks import crc32c
from penstock.storage.ranges import plan_reads
from penstock.storage.user_cache import user_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from penstock.storage.store import Store

__all__ = ["Named", "Progress", "sum_objects"]

_THREADS = 8
_OBJECTS, _BYTES = 32, 4 * 2**20  # that a thread reads at a time; one object may be larger
_DEADLINE_SECONDS = 3600.0  # of waiting for the next few: each request has its own, and may wait for room before


class Named(NamedTuple):
    """An object, as a listing names it."""

    name: str  # below the place that was listed
    size: int
    stamp: str | None  # differs where the content does


def sum_objects(
    store: Store, objects: Sequence[Named], progress: Progress, tell: Callable[[int], None]
) -> NDArray[np.uint32]:
    """Give the CRC-32C of every object. `tell` is told how many are done."""
    sums = np.zeros(len(objects), np.uint32)
    known = progress.known(objects)
    if known:
        sums[list(known)] = list(known.values())
    done = len(known)
    tell(done)

    def summed(which: list[int]) -> tuple[list[int], list[int]]:
        return which, _sums(store, [objects[at] for at in which])

    groups = _groups(objects, [at for at in range(len(objects)) if at not in known])
    stage = Stage("sum", summed, threads=_THREADS, depth=_THREADS)
    with progress, Pipeline(groups, [stage], deadline_seconds=_DEADLINE_SECONDS) as pipeline:
        for which, found in pipeline:
            sums[which] = found
            progress.note([(objects[at], one) for at, one in zip(which, found, strict=True)])
            done += len(which)
            tell(done)
    return sums


def _groups(objects: Sequence[Named], left: Sequence[int]) -> Iterator[list[int]]:
    """Group objects that are read together, by their positions."""
    group: list[int] = []
    size = 0
    for at in left:
        if group and (len(group) == _OBJECTS or size + objects[at].size > _BYTES):
            yield group
            group, size = [], 0
        group.append(at)
        size += objects[at].size
    if group:
        yield group


def _sums(store: Store, objects: Sequence[Named]) -> list[int]:
    """Read some objects, and sum them."""
    sizes = [one.size for one in objects]
    lengths, none = np.array(sizes, np.int64), np.zeros(len(objects), np.int64)
    plan = plan_reads(np.arange(len(objects), dtype=np.int32), none, lengths)
    block = np.empty(plan.block_bytes, np.uint8)
    for failure in store.begin([one.name for one in objects], plan, block, sizes=sizes).failures():
        file = shown(os.path.join(store.place, objects[failure.read].name))
        hint = "list it again: `penstock index`"
        raise failure.error or SourceError("the file is shorter than when it was listed", file=file, hint=hint)
    ends = plan.start + lengths
    return [crc32c(block[start:end].data) for start, end in zip(plan.start.tolist(), ends.tolist(), strict=True)]


@final
class Progress:
    """What is known of the objects of one place, in a file of the user's cache: entered to note more, until all is."""

    def __init__(self, *origin: str | None) -> None:
        self.path = os.path.join(user_cache("sums"), f"{hashlib.sha256(repr(origin).encode()).hexdigest()[:32]}.jsonl")
        self._file: int | None = None

    def known(self, objects: Sequence[Named]) -> dict[int, int]:
        """Give the checksums of those objects, by position, that were summed as they are now."""
        noted: dict[tuple[str, int, str], int] = {}
        try:
            with open(self.path, encoding="utf-8") as file:
                for line in file:
                    with suppress(ValueError, TypeError):
                        name, size, stamp, found = json.loads(line)
                        noted[name, size, stamp] = int(found)
        except OSError:
            return {}
        return {
            at: noted[one.name, one.size, one.stamp]
            for at, one in enumerate(objects)
            if one.stamp is not None and (one.name, one.size, one.stamp) in noted
        }

    def note(self, summed: Sequence[tuple[Named, int]]) -> None:
        """Write some down: lines that end, whatever a killed writer left before them."""
        lines = [json.dumps([*one, found]) for one, found in summed if one.stamp is not None]
        if self._file is not None and lines:
            try:
                os.write(self._file, ("\n" + "\n".join(lines) + "\n").encode())
            except OSError as error:
                self._give_up(error)

    def finish(self) -> None:
        """Forget it: the list is there."""
        with suppress(OSError):
            os.unlink(self.path)

    def __enter__(self) -> None:
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            self._give_up(error)

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _give_up(self, error: OSError) -> None:
        what = "progress cannot be kept in %s: %s; whoever is interrupted begins anew"
        logging.getLogger("penstock").warning(what, self.path, error.strerror)
        self.__exit__()
