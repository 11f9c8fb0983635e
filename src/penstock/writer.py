"""Writes a packed dataset: storage and shard on the way in, as dataset.py is on the way out.

`ShardWriter` puts samples into shards, in a place that claim.py got ready. A shard grows aside; when the next sample
does not fit it is made lasting under its name and only then journalled, so whatever the journal speaks of is there
after any kill. That finishing goes on in a thread behind the next shard: waiting for a disk or a network costs nothing
while there is something to write.

Who fills a shard, this process or others for it, is for work.py to know. Where the place is, a folder here or an object
store, is for storage/place.py to know. Neither makes a difference here.
"""

from __future__ import annotations

from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, final

from penstock.claim import SHARDS
from penstock.errors import StorageError
from penstock.ingest.source import Skipped, shown
from penstock.shard.piece import decode_piece
from penstock.shard.tar import END

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from penstock.shard.piece import Piece
    from penstock.storage.journal import Journal
    from penstock.storage.place import Place
    from penstock.work import OpenShard, Ready, Run

__all__ = ["ShardWriter"]


def _finished(place: Place, journal: Journal) -> list[Piece]:
    """Read the journal up to the first shard that is not there as it says."""
    sizes = _shard_sizes(place)
    done: list[Piece] = []
    for data in journal.pieces():
        piece = decode_piece(data, journal.path)
        if sizes.get(piece.entry.file) != piece.entry.bytes:
            break
        done.append(piece)
    return done


def _shard_sizes(place: Place) -> dict[str, int]:
    return {f"{SHARDS}/{name}": size for name, size in (place.files(SHARDS) or {}).items()}


@final
class ShardWriter:
    """Samples in, finished shards out. Finishing (sync, rename, journal) goes on behind the next shard."""

    def __init__(self, place: Place, journal: Journal, run: Run[Any], shard_bytes: int, first_shard: int = 0) -> None:
        self.done = _finished(place, journal)
        self.items = self.done[-1].stop if self.done else 0
        self.resumed_items = self.items
        self.skipped = [Skipped.from_dict(skipped) for piece in self.done for skipped in piece.skipped]
        self._place, self._journal, self._run = place, journal, run
        self._shard_bytes, self._first_shard = shard_bytes, first_shard
        self._shard: OpenShard[Any] | None = None
        self._finishing: deque[Future[Piece]] = deque()
        self._finisher = ThreadPoolExecutor(1, "penstock-finish")  # one: pieces are journalled in their order
        self.source_bytes = sum(piece.source_bytes for piece in self.done)
        self.stored_bytes = sum(piece.entry.bytes for piece in self.done)
        self.outcomes = sum((Counter(piece.outcomes) for piece in self.done), Counter[str]())

    def add(self, item: Ready | Skipped) -> None:
        """Take the next item of the stream."""
        shard = self._shard or self._open_shard()
        if isinstance(item, Skipped):
            self.skipped.append(item)
        else:
            if shard.bytes and shard.bytes + item.bytes + len(END) > self._shard_bytes:
                self.finish_shard()
                shard = self._open_shard()
            self.source_bytes += item.source_bytes
            self.stored_bytes += item.bytes
        shard.add(item)
        self.outcomes[item.outcome] += 1
        self.items += 1

    def finish_shard(self) -> None:
        """Close the open shard, if there is anything in it, and have it made lasting; wait for those before."""
        while len(self._finishing) >= self._run.at_once:
            self._wait()
        if self._shard is None or not self._shard.bytes:
            return
        make_lasting, self._shard = self._shard.close(self.items), None
        self._finishing.append(self._finisher.submit(self._journalled, make_lasting, self._shards()))

    def _journalled(self, make_lasting: Callable[[], Piece], number: int) -> Piece:
        piece = make_lasting()
        self._journal.add(number, piece.encode())  # only now: a journalled shard is there after any kill
        return piece

    def finish(self) -> list[Piece]:
        """Close the last shard; give all that are there."""
        self.finish_shard()
        while self._finishing:
            self._wait()
        return self.done

    def confirm(self) -> None:
        """See once more that all shards are there and that this is still our work, before anything says so."""
        sizes = _shard_sizes(self._place)
        for entry in (piece.entry for piece in self.done):
            if sizes.get(entry.file) != entry.bytes:
                hint = "see that nobody else packs into it or removes from it, and run the same command again"
                file, found = f"{shown(self._place.store.place)}/{entry.file}", sizes.get(entry.file, "nothing")
                what = "a finished shard is not there any more as it was written"
                raise StorageError(what, file=file, got=found, expected=f"{entry.bytes} bytes", hint=hint)
        self._journal.check()

    def _wait(self) -> None:
        """Wait for the first of the shards being finished."""
        self.done.append(self._finishing.popleft().result())

    def _open_shard(self) -> OpenShard[Any]:
        self._shard = self._run.shard(f"{SHARDS}/{self._first_shard + self._shards():06d}.tar", self.items)
        return self._shard

    def _shards(self) -> int:
        """Count those that are closed."""
        return len(self.done) + len(self._finishing)

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finisher.shutdown()
        if self._shard is not None:
            self._shard.discard()
