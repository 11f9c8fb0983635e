"""Reading: the encoded bytes of batch after batch, of each batch by itself or of whole windows ahead of it.

`BatchReader` reads what a batch needs when its turn comes, into a block that was used before. It serves orders in which
the next sample may be anywhere, and the order of storage.

`WindowReader` serves window order. A window is read whole, in large requests, when its first sample is due, into a slot
of an arena; batches then take their samples from wherever they lie there. A window's slot is free again when its last
sample has been decoded. So every byte is read once, and what memory holds is the windows that are open: one per lane of
this rank, those whose last samples are being decoded, and the next ones.

How far reading runs ahead: the queue behind it takes as many batches as windows that lie ready can fill, so that a
window is read while those before it are decoded; the number of slots is what bounds it.

Reading is begun and arrives (storage/store.py): from a store that is far away, what is read ahead is under way. Whoever
uses a batch's bytes asks for its `errors` first, which waits for them.

A `WindowReader` is used by one thread that reads; batches are released by those that decode.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from penstock.order.window import WindowOrder
from penstock.pieces import most_bytes
from penstock.pipeline.allowance import Allowance
from penstock.pipeline.arena import Arena, arena_memory
from penstock.pipeline.lease import Reservoir
from penstock.pipeline.queue import Closed
from penstock.pipeline.ranks import local_ranks
from penstock.storage.local import EXACT, GENEROUS
from penstock.storage.ranges import GAP_BYTES
from penstock.storage.room import Kept, room_bytes
from penstock.storage.store import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from penstock.dataset import Dataset
    from penstock.errors import PenstockError
    from penstock.filling import Filling, Reading
    from penstock.frame_choice import FrameChoice
    from penstock.order.course import Leg
    from penstock.order.share import Share
    from penstock.pieces import Chosen
    from penstock.pipeline.memory import BatchMemory
    from penstock.pipeline.pipeline import Closable

__all__ = ["BatchReader", "Bytes", "Reader", "Wanted", "WindowReader", "Windows", "slot_bytes", "slots_needed"]

AHEAD = 2  # windows that are read ahead at the least: while one is read, another lies ready
ALIGNMENT = 4096  # of reads past the page cache


@final
@dataclass(frozen=True, slots=True)
class Bytes:
    """A batch's encoded bytes: where each piece begins in the block, and how long it is."""

    block: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # [pieces, samples]; the fields' pieces one after another, see pieces.py
    lengths: NDArray[np.int64]
    errors: Callable[[], dict[int, PenstockError]]  # waits; by position in the batch, of samples that did not arrive
    requests: int  # made for this batch
    requested_bytes: int
    release: Callable[[], None]  # to be called when nobody reads the bytes any more


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """The samples of a batch, and where in its course they come."""

    ids: NDArray[np.int64]
    padding: int = 0  # so many at the end are repeats
    leg: Leg | None = None  # None: samples that were asked for by their numbers
    positions: NDArray[np.int64] | None = None
    chosen: Chosen = field(default_factory=dict)  # the frames of clips

    @property
    def names(self) -> NDArray[np.int64]:
        """What random draws are named after: the samples, or where these come several times in an epoch, the places."""
        if self.leg is None or self.positions is None or not self.leg.order.repeats:
            return self.ids
        return ~self.positions  # negative, apart from any sample's

    def part(self, part: slice, padding: int) -> Wanted:
        """Give some of the samples."""
        positions = None if self.positions is None else self.positions[part]
        chosen = {name: frames[part] for name, frames in self.chosen.items()}
        return Wanted(self.ids[part], padding, self.leg, positions, chosen)


class Reader(Protocol):
    """Whatever reads batches."""

    @property
    def depth(self) -> int:
        """How many batches that were read may wait."""

    @property
    def waited_for(self) -> Sequence[Closable]:
        """What `read` may wait for."""

    def read(self, wanted: Wanted) -> Bytes:
        """Read the samples of a batch."""


@final
class UnderWay:
    """What is on its way from the medium. Closed, it stops there, and so do the waits for it."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._lock = threading.Lock()
        self._fillings: weakref.WeakSet[Filling] = weakref.WeakSet()
        self._is_closed = False

    def begin(self, reading: Reading, block: NDArray[np.uint8], ways: NDArray[np.uint8] | None = None) -> Filling:
        """Begin to fill a block."""
        filling = self._dataset.begin(reading, block, ways=ways)
        with self._lock:
            if self._is_closed:
                filling.cancel()
                raise Closed
            self._fillings.add(filling)
        return filling

    def close(self) -> None:
        """Stop everything."""
        with self._lock:
            self._is_closed = True
            fillings = list(self._fillings)
        for filling in fillings:
            filling.cancel()


def _errors_of(filling: Filling) -> dict[int, PenstockError]:
    """Wait for what fills a block."""
    try:
        return filling.errors()
    except Cancelled:
        raise Closed from None


@final
class BatchReader:
    """Reads each batch by itself."""

    def __init__(self, dataset: Dataset, fields: Sequence[str], memory: BatchMemory) -> None:
        self._dataset, self._fields, self._memory = dataset, tuple(fields), memory
        self._under_way = UnderWay(dataset)
        self._allowance = Allowance(memory.encoded_bytes // dataset.stored.copies)
        self.depth, self.waited_for = memory.depth, (self._under_way, self._allowance)

    def read(self, wanted: Wanted) -> Bytes:
        """Read the samples of a batch."""
        reading = self._dataset.plan_reading(wanted.ids, self._fields, wanted.chosen)
        reads, size_bytes = reading.reads, self._memory.block_bytes(reading.reads.block_bytes)
        self._allowance.take(size_bytes)
        block = self._memory.block(reads.block_bytes)
        errors = partial(_errors_of, self._under_way.begin(reading, block))

        def release() -> None:
            self._memory.take_back(block)
            self._allowance.give_back(size_bytes)

        return Bytes(block, reading.starts, reading.lengths, errors, len(reads), reads.block_bytes, release)


@final
@dataclass(slots=True)
class _Lot:
    """A window, or what is left of it, in memory."""

    slot: int
    first: int  # the row of the window that is its first
    to_come: int  # samples that are not decoded yet
    filling: Filling  # its errors are by row, counted from the first


@final
class WindowReader:
    """Reads windows whole, as far ahead as the arena has slots."""

    def __init__(self, windows: Windows, arena: Arena, kept: Kept | None) -> None:
        self._dataset, self._fields, self._arena = windows.dataset, windows.fields, arena
        self._kept = kept  # None: the files are many and small, or far away
        self._under_way = UnderWay(windows.dataset)
        self.depth, self.waited_for = windows.depth, (arena, self._under_way)
        self._lots: dict[tuple[int, int], _Lot] = {}  # by epoch and window
        self._choice = windows.choice
        self._offsets, self._lengths = np.empty((2, windows.pieces, arena.slots, windows.window), np.int64)
        self._reached = (-1, 0)  # the epoch, and the position in it, up to which batches were read
        self._lock = threading.Lock()

    def read(self, wanted: Wanted) -> Bytes:
        """Read the samples of a batch: open the windows that it is the first to need, and find its samples."""
        leg, positions, fresh = wanted.leg, wanted.positions, len(wanted.ids) - wanted.padding
        assert leg is not None
        assert positions is not None
        assert isinstance(leg.order, WindowOrder)
        numbers, rows = leg.order.windows(positions)
        windows, first, of_lot = np.unique(numbers, return_index=True, return_inverse=True)
        repeats = np.bincount(of_lot[fresh:], minlength=len(windows))
        lots, requests, requested = [], 0, 0
        for number, at, again in zip(windows.tolist(), first.tolist(), repeats.tolist(), strict=True):
            lot = self._found((leg.epoch, number), again)
            if lot is None:
                # A window that only a repeat needs is done with: of that, nothing but this sample is read again.
                start, stop = (self._start(leg), leg.stop) if at < fresh else (positions[at], positions[at] + 1)
                row, ids = leg.order.contents(number, start=int(start), stop=int(stop))
                reading, lot = self._opened(row, ids, leg.epoch, to_come=again + (len(ids) if at < fresh else 0))
                requests, requested = requests + len(reading.reads), requested + reading.reads.block_bytes
                with self._lock:
                    self._lots[leg.epoch, number] = lot
            lots.append(lot)
        if fresh:
            self._reached = (leg.epoch, int(positions[fresh - 1]) + 1)
        rows -= np.array([lot.first for lot in lots])[of_lot]
        slots = np.array([lot.slot for lot in lots])[of_lot]
        keys = [(leg.epoch, number) for number in windows.tolist()]
        return Bytes(
            self._arena.memory,
            self._offsets[:, slots, rows],
            self._lengths[:, slots, rows],
            partial(_errors, lots, of_lot, rows),
            requests,
            requested,
            partial(self._release, list(zip(keys, np.bincount(of_lot).tolist(), strict=True))),
        )

    def _start(self, leg: Leg) -> int:
        """Say from which position on nothing was read yet."""
        epoch, position = self._reached
        return position if epoch == leg.epoch else leg.start

    def _found(self, key: tuple[int, int], again: int) -> _Lot | None:
        """Give an open window; it will be asked for samples `again` that it has given already."""
        with self._lock:
            lot = self._lots.get(key)
            if lot is not None:
                lot.to_come += again
            return lot

    def _opened(self, row: int, ids: NDArray[np.int64], epoch: int, *, to_come: int) -> tuple[Reading, _Lot]:
        """Read samples of a window into a slot."""
        chosen = None if self._choice is None else self._choice.of(ids, ids, epoch)
        alignment = 1 if self._kept is None else ALIGNMENT
        reading = self._dataset.plan_reading(ids, self._fields, chosen, alignment=alignment)
        slot = self._arena.take()
        ways = None if self._kept is None else self._kept.ways(reading.reads.file, reading.reads)
        filling = self._under_way.begin(reading, self._arena.slot(slot), ways)
        self._offsets[:, slot, : len(ids)] = reading.starts + slot * self._arena.slot_bytes
        self._lengths[:, slot, : len(ids)] = reading.lengths
        return reading, _Lot(slot, row, to_come, filling)

    def _release(self, used: list[tuple[tuple[int, int], int]]) -> None:
        """Count samples as decoded; give back the slots of windows that have no more."""
        for key, count in used:
            with self._lock:
                lot = self._lots[key]
                lot.to_come -= count
                if lot.to_come:
                    continue
                del self._lots[key]
            self._arena.give_back(lot.slot)


def _errors(lots: list[_Lot], of_lot: NDArray[np.intp], rows: NDArray[np.int64]) -> dict[int, PenstockError]:
    """Wait for a batch's lots; the errors of its samples, by position."""
    errors = [_errors_of(lot.filling) for lot in lots]
    if not any(errors):
        return {}
    found = enumerate(zip(of_lot.tolist(), rows.tolist(), strict=True))
    return {at: errors[lot][row] for at, (lot, row) in found if row in errors[lot]}


@final
class Windows:
    """Reading by windows: what memory it takes, and a reader for each iteration."""

    def __init__(
        self,
        dataset: Dataset,
        fields: Sequence[str],
        order: WindowOrder,
        share: Share,
        choice: FrameChoice | None = None,
    ) -> None:
        self.dataset, self.fields, self.window = dataset, tuple(fields), order.window_samples
        self.choice = choice  # None: clips are read whole
        frames = {} if choice is None else choice.frames
        self.pieces = sum(frames.get(name, 1) for name in self.fields)  # of each sample
        block = order.block_samples
        self._slot_bytes = slot_bytes(dataset, self.fields, window=self.window, block=block, frames=frames)
        # A store that is far away wants all its requests in flight at any time, and another window to take them from.
        ahead = max(AHEAD, -(-dataset.stored.under_way_bytes // self._slot_bytes) + 1)
        slots = slots_needed(order.lanes // share.world_size, self.window, share.batch_size) + ahead
        slots = max(min(slots, order.window_count(share.rank, share.world_size)), 1)  # no more than there are windows
        self.depth = -(-min(ahead, slots) * self.window // share.batch_size)
        self.arena_bytes = slots * self._slot_bytes
        self.memory_bytes = self.arena_bytes + (dataset.stored.copies - 1) * min(ahead + 1, slots) * self._slot_bytes
        self._arenas = Reservoir(self.arena_bytes, spare=1, allocate=arena_memory)
        self._way = GENEROUS if local_ranks() == share.world_size else EXACT  # others may read the rest elsewhere
        self._kept: Kept | None = None

    def reader(self, memory_bytes: int) -> WindowReader:
        """Make a reader for one iteration of a loader that takes so much memory. The next one has the same arena."""
        arena, sizes = Arena(self._arenas.array((self.arena_bytes,)), self._slot_bytes), self.dataset.file_bytes
        if self._kept is None and sizes is not None and self.dataset.stored.is_local:
            self._kept = Kept.of(sizes, room_bytes() - local_ranks() * memory_bytes, way=self._way)
        return WindowReader(self, arena, self._kept)


def slots_needed(lanes: int, window: int, batch_size: int) -> int:
    """Count the windows, of a rank with so many lanes, that may be open when a batch is decoded, at the most.

    One of each lane, and another for each that ends within the batch: a lane's windows end `window` samples of its own
    apart, and those of different lanes as evenly between them as whole numbers allow.
    """
    of_each_lane = -(-(-(-batch_size // lanes) + 1) // window)
    evenly = batch_size // max(window - lanes, 1) + 1
    return lanes + min(lanes * of_each_lane, evenly)


def slot_bytes(
    dataset: Dataset, fields: Sequence[str], *, window: int, block: int, frames: Mapping[str, int] | None = None
) -> int:
    """Give a bound on what reading any window can take: a sum over its blocks, none larger than the largest are.

    Of the clips in some fields only so many `frames` are read.

    A window is `window` samples in a row of the scan: whole blocks, and between them and at its ends parts of blocks.
    """
    if not len(dataset):
        return ALIGNMENT
    sizes = np.pad(_sample_bytes(dataset, fields, frames or {}), (0, -len(dataset) % block)).reshape(-1, block)
    if window >= len(dataset):
        return _aligned(int(sizes.sum()) + len(sizes) * 2 * ALIGNMENT)
    sums = np.cumsum(sizes, axis=1)
    prefix = np.concatenate(([0], sums.max(axis=0)))
    suffix = np.concatenate(([0], np.cumsum(sizes[:, ::-1], axis=1).max(axis=0)))
    # Its ends are parts of two blocks; each whole block between counts as the largest there are.
    whole, rest = divmod(window, block)
    largest = np.sort(sums[:, -1])[::-1]
    counts = [(whole, rest)] + ([(whole - 1, rest + block)] if whole else [])
    bounds = []
    for inner, outer in counts:
        ends = np.arange(max(outer - block, 0), min(outer, block) + 1)
        bounds.append(int(largest[:inner].sum()) + int((prefix[ends] + suffix[outer - ends]).max()))
    if not whole:  # it may also lie within one
        before = np.pad(sums, ((0, 0), (1, 0)))
        bounds.append(int((before[:, window:] - before[:, :-window]).max()))
    tail = len(dataset) % block
    pieces = whole + 3
    return _aligned(max(bounds) + (int(sums[-1, -1]) if tail else 0) + pieces * 2 * ALIGNMENT)


def _sample_bytes(dataset: Dataset, fields: Sequence[str], frames: Mapping[str, int]) -> NDArray[np.int64]:
    """Give a bound on what reading a sample takes beside its neighbours: its bytes, and the gaps read with them."""
    columns = [dataset.column(field) for field in fields]
    if frames:  # a batch of clips has no other fields
        bounds = zip(columns, (frames[field] for field in fields), strict=True)
        most: NDArray[np.int64] = np.sum([most_bytes(column, n, alignment=ALIGNMENT) for column, n in bounds], axis=0)
        return most
    ranges = [np.stack([getattr(one, name) for one in columns], axis=1) for name in ("file", "offset", "length")]
    by_place = np.argsort(ranges[1], axis=1, kind="stable")
    file, begin, length = (np.take_along_axis(array, by_place, axis=1).reshape(-1) for array in ranges)
    gap = np.append(begin[1:] - begin[:-1] - length[:-1], 0)
    follows = np.append(file[1:] == file[:-1], False) & (gap >= 0)
    is_in_order = bool((follows[:-1] | (file[1:] > file[:-1])).all())
    # In storage order a gap is read, or it ends a read; otherwise anything may turn out to be a neighbour of anything.
    largest_gap, ends = GAP_BYTES + 2 * ALIGNMENT, 2 * ALIGNMENT
    cost = np.where(follows & (gap <= largest_gap), gap, ends) if is_in_order else np.full(len(gap), largest_gap)
    sizes: NDArray[np.int64] = (length + cost).reshape(-1, len(columns)).sum(axis=1)
    return sizes


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
