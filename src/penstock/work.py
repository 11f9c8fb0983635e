"""The work of packing, and who does it.

`Work` is what anybody needs to do a part of it, in any process that sees the source and the place. An engine does it:

    items    every sample in write order, made ready; whoever takes them learns their sizes, in that order
    shard    gathers items until it is closed; then it becomes a file and a piece for the journal

The writer (writer.py) takes the items in order and says where shards end, so the bytes are the same whoever does the
work. `Threads`, here, are this process; `penstock.ray.Cluster` is a Ray cluster.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, final

from penstock.ingest.source import Skipped
from penstock.ingest.transcode import Transcoded, transcoded
from penstock.pipeline.cores import allowed_cores
from penstock.shard.index import IndexRows
from penstock.shard.manifest import ShardEntry
from penstock.shard.piece import Piece
from penstock.shard.tar import END

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager

    from penstock.ingest.recipe import Recipe
    from penstock.ingest.source import Source
    from penstock.storage.journal import Begun
    from penstock.storage.place import Growing

__all__ = ["Engine", "OpenShard", "Ready", "Run", "ShardFile", "Threads", "Work"]


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be packed, how, and where to. Picklable."""

    begun: Begun
    source: Source
    recipe: Recipe
    workers: int | None  # how many may work at a time; None: all there are
    paths: tuple[str, ...]  # of local files and folders: whoever works must see the same ones


class Ready(Protocol):
    """A sample that is ready to be stored, as far as the writer has to know it."""

    @property
    def bytes(self) -> int:
        """How much room it takes in a shard."""

    @property
    def source_bytes(self) -> int:
        """How much was read for it."""

    @property
    def outcome(self) -> str:
        """What was done to it."""


ReadyT = TypeVar("ReadyT", bound=Ready)
ItemT_contra = TypeVar("ItemT_contra", bound=Ready, contravariant=True)


class OpenShard(Protocol[ItemT_contra]):
    """A shard that is being filled."""

    @property
    def bytes(self) -> int:
        """How much is in it; 0 while it has no sample."""

    def add(self, item: ItemT_contra | Skipped) -> None:
        """Take the next item."""

    def close(self, stop: int) -> Callable[[], Piece]:
        """End it behind item `stop` of all; what is given makes it lasting, in whatever thread that is called."""

    def discard(self) -> None:
        """Close without a result."""


class Run(Protocol[ReadyT]):
    """Work that is going on."""

    @property
    def at_once(self) -> int:
        """How many shards may be made lasting at a time."""

    def items(self, order: Sequence[int], start: int) -> Generator[ReadyT | Skipped, None, None]:
        """Give the samples at these positions, from the one that is `start`-th on."""

    def shard(self, name: str, start: int) -> OpenShard[ReadyT]:
        """Begin a shard whose first item is the `start`-th."""


class Engine(Protocol):
    """Who does the work."""

    def begin(self, work: Work) -> AbstractContextManager[Run[Any]]:
        """Get ready, and clear up afterwards."""


@final
class Threads:
    """The threads of this process."""

    @contextmanager
    def begin(self, work: Work) -> Iterator[Run[Transcoded]]:
        """Do the work; there is nothing to get ready."""
        yield _InThreads(work)


@final
class _InThreads:
    """Work that threads of this process do."""

    at_once = 1  # behind the next shard: while one waits for the disk, the other is filled

    def __init__(self, work: Work) -> None:
        self._work = work

    def items(self, order: Sequence[int], start: int) -> Generator[Transcoded | Skipped, None, None]:
        """Transcode samples in threads."""
        return transcoded(self._work.source, order[start:], self._work.recipe, self._work.workers or allowed_cores())

    def shard(self, name: str, start: int) -> ShardFile:
        """Begin a shard in this process."""
        del start
        return ShardFile(self._work, name)


@final
class ShardFile:
    """A shard that this process fills, sample by sample."""

    def __init__(self, work: Work, name: str, attempt: str = "") -> None:
        self._begun, self._name, self._attempt = work.begun, name, attempt
        self._rows = IndexRows(tuple(work.source.fields), work.source.labels.schema)
        self._file: Growing | None = None
        self._outcomes, self._kept = Counter[str](), Counter[str]()
        self._skipped: list[dict[str, Any]] = []
        self._source_bytes = 0

    @property
    def bytes(self) -> int:
        """How much is in it."""
        return 0 if self._file is None else self._file.bytes

    def add(self, item: Transcoded | Skipped) -> None:
        """Append a sample, or note what was skipped."""
        if isinstance(item, Skipped):
            self._skipped.append(item.as_dict())
        else:
            if self._file is None:
                self._file = self._begun.grow(self._name, self._attempt)
            self._rows.add(item.sample, self._name, self._file.bytes)
            self._file.append(item.sample.data)
            self._source_bytes += item.source_bytes
            if item.why:
                self._kept[item.why] += 1
        self._outcomes[item.outcome] += 1

    def close(self, stop: int) -> Callable[[], Piece]:
        """End the archive."""
        file = self._file
        assert file is not None
        file.append(END)
        piece = Piece(
            entry=ShardEntry(self._name, file.bytes, len(self._rows), file.sha256),
            stop=stop,
            source_bytes=self._source_bytes,
            outcomes=dict(self._outcomes),
            kept=dict(self._kept),
            skipped=self._skipped,
            rows=self._rows.take(),
        )

        def make_lasting() -> Piece:
            try:
                self._begun.check()  # another's shard is not to be written over
                file.finish()
            finally:
                file.discard()
            return piece

        return make_lasting

    def discard(self) -> None:
        """Close without a result."""
        if self._file is not None:
            self._file.discard()
