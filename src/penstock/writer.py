"""Writes a packed dataset: storage and shard on the way in, as dataset.py is on the way out.

`claim` gets a place ready (new, or unfinished with the same plan, or cleared on request). `ShardWriter` appends
samples to shards. A shard grows aside; when the next sample does not fit it is made lasting under its name and only
then journalled, so whatever the journal speaks of is there after any kill. That finishing goes on in a thread behind
the next shard: waiting for a disk or a network costs nothing while there is something to write.

Where the place is, a folder here or an object store, is for storage/place.py to know and makes no difference here.
"""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

from penstock.errors import PenstockError, StorageError, UsageError
from penstock.ingest.source import Skipped, shown
from penstock.shard.index import IndexRows
from penstock.shard.manifest import INDEX_NAME, MANIFEST_NAME, ShardEntry
from penstock.shard.piece import Piece, decode_piece
from penstock.shard.tar import END
from penstock.storage.journal import JOURNAL_NAME, Journal, foreign_names, is_unfinished
from penstock.storage.local import storage_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    import pyarrow as pa

    from penstock.ingest.transcode import Transcoded
    from penstock.storage.place import Growing, Place

__all__ = ["ShardWriter", "claim", "is_published"]

_SHARDS = "shards"
_SHARD_NAME = re.compile(r"\d{6,}\.tar")


def claim(place: Place, plan: bytes, *, force: bool) -> Journal:
    """Get a place ready to be written into, and hold it.

    It may be new, or unfinished with the same plan, which is then gone on with; `force` starts over from anything else
    that a pack wrote. Where a manifest is there afterwards, only the journal's removal is left to do.
    """
    where = shown(place.store.place)
    try:
        is_whole, is_begun = is_published(place), is_unfinished(place)
        if not is_whole and not is_begun and not place.is_empty():
            hint = "choose another destination"
            raise UsageError("the destination is neither a dataset nor empty", file=where, hint=hint)
        if is_whole and not is_begun and not force:
            raise _exists(where)
        foreign = foreign_names(place)
        if foreign:
            hint = "move it away: packing needs a folder of this name for itself"
            what, file = "there are other files in the way", f"{where}/{JOURNAL_NAME}"
            raise UsageError(what, file=file, got=shown(foreign[0]), hint=hint)
        journal = Journal(place)  # it holds the place and marks everything beside it as ours
        with _closed_on_error(journal):
            place.make_folder(_SHARDS)
            is_whole, begun = is_published(place), journal.plan  # what they are now that the place is held
            if force and (is_whole or begun != plan):
                _start_over(place, journal, plan)
            elif begun is None and is_whole:  # killed at the very last step
                journal.remove()
                raise _exists(where)
            elif begun is None:  # new, or killed while starting over: a part of what was there before may be left
                _start_over(place, journal, plan)
            elif begun != plan:
                hint = "run the command that began it, or start over with --force (force=True)"
                what = "an unfinished pack of another source or with other settings is in the way"
                raise UsageError(what, file=where, hint=hint)
            else:
                journal.take(plan)
    except OSError as error:
        raise error if isinstance(error, PenstockError) else storage_error(error, place.store.place) from error
    return journal


@contextmanager
def _closed_on_error(journal: Journal) -> Iterator[None]:
    try:
        yield
    except BaseException:
        journal.close()
        raise


def _exists(where: str) -> UsageError:
    hint = "choose another destination, or replace it with --force (force=True)"
    return UsageError("there is a dataset already", file=where, hint=hint)


def is_published(place: Place) -> bool:
    """Whether the place is a dataset already, as it is after a kill at the last step."""
    return place.size(MANIFEST_NAME) is not None


def _start_over(place: Place, journal: Journal, plan: bytes) -> None:
    """Remove what a pack wrote, and nothing else; the manifest first, so that no half of a dataset looks whole.

    The new plan comes last: where there is one, nothing of another dataset is left.
    """
    shards = [f"{_SHARDS}/{name}" for name in place.files(_SHARDS) or () if _SHARD_NAME.fullmatch(name)]
    place.remove([MANIFEST_NAME, INDEX_NAME, *shards])
    journal.begin(plan)


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
    return {f"{_SHARDS}/{name}": size for name, size in (place.files(_SHARDS) or {}).items()}


@final
class ShardWriter:
    """Samples in, finished shards out. Finishing (sync, rename, journal) goes on behind the next shard."""

    def __init__(
        self, place: Place, journal: Journal, fields: Sequence[str], labels: pa.Schema, shard_bytes: int
    ) -> None:
        self.done = _finished(place, journal)
        self.items = self.done[-1].stop if self.done else 0
        self.resumed_items = self.items
        self.skipped = [Skipped.from_dict(skipped) for piece in self.done for skipped in piece.skipped]
        self._place, self._journal, self._shard_bytes = place, journal, shard_bytes
        self._rows = IndexRows(fields, labels)
        self._shard: Growing | None = None
        self._finishing: Future[Piece] | None = None
        self._finisher = ThreadPoolExecutor(1, "penstock-finish")
        self.source_bytes = sum(piece.source_bytes for piece in self.done)
        self.stored_bytes = sum(piece.entry.bytes for piece in self.done)
        self.outcomes = sum((Counter(piece.outcomes) for piece in self.done), Counter[str]())
        self._begin_piece()

    def _begin_piece(self) -> None:
        self._piece_outcomes, self._piece_kept = Counter[str](), Counter[str]()
        self._piece_skipped: list[dict[str, Any]] = []
        self._piece_source_bytes = 0

    def add(self, item: Transcoded | Skipped) -> None:
        """Take the next item of the stream."""
        if isinstance(item, Skipped):
            self._piece_skipped.append(item.as_dict())
            self.skipped.append(item)
        else:
            data = item.sample.data
            if self._shard and self._shard.bytes + len(data) + len(END) > self._shard_bytes:
                self.finish_shard()
            shard = self._shard or self._open_shard()
            self._rows.add(item.sample, self._name(), shard.bytes)
            shard.append(data)
            self._piece_source_bytes += item.source_bytes
            self.source_bytes += item.source_bytes
            self.stored_bytes += len(data)
            if item.why:
                self._piece_kept[item.why] += 1
        self._piece_outcomes[item.outcome] += 1
        self.outcomes[item.outcome] += 1
        self.items += 1

    def finish_shard(self) -> None:
        """Close the open shard, if any, and have it made lasting; wait for the one before."""
        self.wait()
        shard, self._shard = self._shard, None
        if shard is None:
            return
        shard.append(END)
        entry = ShardEntry(self._name(), shard.bytes, len(self._rows), shard.sha256)
        piece = Piece(
            entry=entry,
            stop=self.items,
            source_bytes=self._piece_source_bytes,
            outcomes=dict(self._piece_outcomes),
            kept=dict(self._piece_kept),
            skipped=self._piece_skipped,
            rows=self._rows.take(),
        )
        self._begin_piece()
        self._finishing = self._finisher.submit(self._make_lasting, shard, len(self.done), piece)

    def _make_lasting(self, shard: Growing, number: int, piece: Piece) -> Piece:
        try:
            self._journal.check()  # another's shard is not to be written over
            shard.finish()
        finally:
            shard.discard()
        self._journal.add(number, piece.encode())  # only now: a journalled shard is there after any kill
        return piece

    def finish(self) -> list[Piece]:
        """Close the last shard; give all that are there."""
        self.finish_shard()
        self.wait()
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

    def wait(self) -> None:
        """Wait for the shard being finished."""
        if self._finishing is not None:
            finishing, self._finishing = self._finishing, None
            self.done.append(finishing.result())

    def _open_shard(self) -> Growing:
        self._shard = self._journal.grow(self._name())
        return self._shard

    def _name(self) -> str:
        """Name the shard that is open, or the next one."""
        return f"{_SHARDS}/{len(self.done) + (self._finishing is not None):06d}.tar"

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finisher.shutdown()
        if self._shard is not None:
            self._shard.discard()
