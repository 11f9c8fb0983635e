"""READ PATH: samples of a dataset, epoch after epoch, as batches of pixels and labels.

The path is `Loader._read_path`, one screen from top to bottom: order → read → decode → batch. Order and geometry are
computed for thousands of samples at a time, reading runs ahead in a thread of its own, and two decoding calls are
always in flight, so that no core waits for the last image of a batch while the next batch is ready. A batch is made by
array operations and one native call per field; Python holds its lock for a few microseconds per image.

What a batch contains is decided by (seed, epoch, sample id) alone: threads, memory and timing change nothing.
"""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Protocol, final

import numpy as np

from penstock.decode.batch import Encoded
from penstock.decode.image import MAX_PIXELS
from penstock.decode.layout import shape_of
from penstock.decoding import FieldDecoder
from penstock.errors import SourceError, UsageError
from penstock.frame_choice import FrameChoice
from penstock.opening import dataset_of
from penstock.order import Extent, WindowOrder
from penstock.order.course import Course, Place, check_states
from penstock.order.share import Share
from penstock.order.shuffle import shuffle_of
from penstock.pipeline import Pipeline, Stage, Trace
from penstock.pipeline.cores import allowed_cores
from penstock.pipeline.memory import BatchMemory, compacted
from penstock.pipeline.options import one_of, whole_number
from penstock.pipeline.ranks import local_ranks, rank_of
from penstock.pipeline.tally import LoaderStatistics, Tally
from penstock.planning import Planned, Planner
from penstock.reading import BatchReader, Bytes, Reader, Wanted, Windows
from penstock.selection import Selection, chosen
from penstock.storage.watch import watch
from penstock.transforms import Plan
from penstock.transforms.torchvision import Foreign
from penstock.types import Batch, Pair

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from penstock.dataset import Dataset
    from penstock.decode.layout import Layout
    from penstock.order import Shuffle
    from penstock.order.position import Position

__all__ = ["Delivery", "Loader", "LoaderStatistics", "Tuning", "check_whole", "verify_resume"]


@final
@dataclass(frozen=True, slots=True)
class Tuning:
    """Finer knobs than most will need."""

    decoding_calls: int = 2
    """Batches decoded at a time. One leaves cores idle at the end of each batch, more than two only cost memory."""

    deadline_seconds: float = 600.0
    """How long the consumer waits for a batch before it is told which stage hangs."""

    max_pixels: int = MAX_PIXELS
    """The largest image that is decoded; a header that states more is an error."""

    verify: bool = True
    """Whether what was read is compared with the checksums in the index."""


@final
@dataclass(frozen=True, slots=True)
class Delivery:
    """How batches leave the loader. By default: as NumPy arrays in ordinary memory."""

    allocate: Callable[[int], NDArray[np.uint8]] | None = None  # where their memory comes from
    recycles: bool = True  # whether a batch that is dropped is no longer read: no copy of it is under way
    finish: Callable[[Any], Any] | None = None  # a last step, in a thread of its own
    applies_values: bool = False  # whether that step does the dtype and normalisation
    stays_in_host_memory: bool = True  # the batch that it gives
    runs_rest: bool = False  # whether the caller runs the transforms that are not ours
    knows_lost: bool = False  # whether the caller has seen to files of the folder that are no samples


@final
@dataclass(frozen=True, slots=True)
class _Read:
    """A batch with its encoded bytes."""

    planned: Planned
    bytes: Bytes
    encoded: dict[str, Encoded]  # by field, in them


@final
class Loader:
    """Batches of a dataset, epoch after epoch: `for images, labels in loader`.

    What: `dataset` (or its path); those of its `fields` (images, masks, labels; default: all) that a batch shall have;
    `transforms`, ours or torchvision's. A batch of one image field and one label is a `Pair`, any other a `Batch` with
    names; both know the `ids` of their samples. Images are [B, 3, H, W] (or [B, H, W, 3]: `channels_first=False`), and
    clips, of which `ClipSample` among the transforms chooses the frames, [B, 3, T, H, W] (or [B, T, H, W, 3]). They are
    uint8 unless the transforms say otherwise, masks have one channel; labels of numbers are arrays, others lists.
    Batches may be kept as long as one likes: their memory is used again only once they are dropped.

    In which order: `shuffle="full"` is a uniform shuffle, "window" one that reads a slow medium in long runs, False the
    order of storage. An iteration is one epoch, every sample exactly once; the next iteration is the next epoch unless
    `set_epoch` says otherwise. `state_dict()` tells at any batch where the run is, `load_state_dict()` goes on there.

    On several ranks (`rank` of `world_size`; by default as `torchrun` says) each loads its share of the epoch, and all
    have as many batches of `batch_size`. What remains for the last ones is shared out in shorter batches, left out with
    `drop_last`, or filled up with repeats with `pad_last`; `batch.padding` counts the repeats at the end of a batch.

    By which means: `threads` decode (default: one per core; 0: none but the loader's own), `memory` is the budget in
    bytes for everything in flight, from which all depths follow. `on_error="skip"` makes a batch shorter by the
    samples that cannot be loaded and counts them in `statistics()`; "raise" stops at the first. So it is with files of
    an untouched folder that should be samples and are none: dangling links, images beside the class folders. A `trace`
    records what every thread does, batch by batch.
    """

    def __init__(
        self,
        dataset: Dataset | str | os.PathLike[str],
        *,
        batch_size: int,
        transforms: Any = (),
        fields: Sequence[str] | None = None,
        shuffle: Shuffle | Literal["full", "window", False] = "full",
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        drop_last: bool = False,
        pad_last: bool = False,
        threads: int | None = None,
        memory: int | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        channels_first: bool = True,
        exif_orientation: bool = False,
        trace: Trace | None = None,
        tuning: Tuning | None = None,
        delivery: Delivery | None = None,
    ) -> None:
        way = shuffle_of(shuffle)
        one_of(("raise", "skip"), on_error, what="on_error")
        seed = whole_number(seed, what="seed")
        memory = None if memory is None else whole_number(memory, what="memory, in bytes", least=1)
        self.dataset = dataset_of(dataset)
        self.batch_size = whole_number(batch_size, what="batch_size", least=1)
        if drop_last and pad_last:
            raise UsageError("the last batch cannot be both dropped and padded", got="drop_last=True, pad_last=True")
        last: Literal["short", "pad", "drop"] = "drop" if drop_last else "pad" if pad_last else "short"
        share = Share(self.batch_size, *rank_of(rank, world_size), last)
        self._course = Course(way, _extent(self.dataset), seed=seed, share=share, dataset=self.dataset.digest)
        self._plan = transforms if isinstance(transforms, Plan) else Plan(transforms)
        self._seed = seed
        self._tuning, self._delivery, self._trace = tuning or Tuning(), delivery or Delivery(), trace
        self._skips = on_error == "skip"
        if not self._skips and not self._delivery.knows_lost:
            check_whole(self.dataset)
        self._lost = tuple(item.error() for item in self.dataset.lost)
        self._channels_first, self._orients = channels_first, exif_orientation
        self._is_closed = False
        self._tally = Tally(self._lost)
        self._running: weakref.WeakSet[Pipeline] = weakref.WeakSet()
        self._selection = Selection.of(self.dataset, fields)
        self._check_transforms()
        own = max(allowed_cores() // local_ranks(), 1)
        threads = own if threads is None else whole_number(threads, what="threads", least=0)
        self._calls = self._tuning.decoding_calls if threads else 1
        verify = self._tuning.verify
        orients = exif_orientation and not self._selection.clips  # frames of clips have none
        self._choice = choice = FrameChoice(self._selection.columns, self._plan.sampling, seed=seed)
        self._planner = Planner(self._selection, self._plan, choice, seed=seed, orients=orients, verify=verify)
        order, kinds = self._course.order(0), tuple(self._selection.kinds)
        self._windows = Windows(self.dataset, kinds, order, share, choice) if isinstance(order, WindowOrder) else None
        self._arriving = [] if self.dataset.stored.is_local else [Stage("arrive", _arrived, depth=1)]
        self._memory = self._lay_out(memory)
        self._decoder = FieldDecoder(
            self._selection,
            self._planner,
            self._memory,
            values=self._plan.values,
            dtypes=self._dtypes,
            threads=threads,
            max_pixels=self._tuning.max_pixels,
            layouts=self.layouts,
            orients=orients,
        )

    def _read_path(self, start: Position, epochs: int, tally: Tally) -> Generator[Any, None, None]:
        """Everything that happens to a sample, in the order in which it happens."""
        places: deque[Place] = deque()  # of the batches under way
        legs, share, reader = self._course.legs(start, epochs), self._course.share, self._reader()
        planned = self._planner.batches(legs, share, places, tally)  # Planned: ids, labels, where crops lie
        stages = [
            Stage("read", partial(self._read, reader), depth=reader.depth),  # _Read: their encoded bytes
            *self._arriving,  # the same, when they are there
            Stage("decode", self._decode, threads=self._calls, depth=self._memory.depth),  # Pair or Batch: pixels
        ]
        if self._delivery.finish is not None:
            stages.append(Stage("deliver", self._delivery.finish, depth=1))  # the same as tensors, on a device

        def delivered(batch: Any) -> Any:
            self._course.advance(places.popleft())
            return batch

        deadline = self._tuning.deadline_seconds
        pipeline = Pipeline(planned, stages, deadline_seconds=deadline, waited_for=reader.waited_for, trace=self._trace)
        self._running.add(pipeline)
        if self._is_closed:  # by another thread, since this one has asked
            pipeline.close()
        tally.begin(pipeline)
        try:
            with pipeline:
                yield from map(delivered, pipeline)
        finally:
            tally.end(pipeline)

    def _read(self, reader: Reader, planned: Planned) -> _Read:
        """Read: the bytes of each field."""
        if self._trace is not None:
            watch.set(self._trace.request)  # of requests that this thread begins
        read = reader.read(planned.wanted)
        planned.tally.read(int(read.lengths.sum()), requests=read.requests, requested_bytes=read.requested_bytes)
        encoded, row = {}, 0
        for name, about in planned.expected.items():
            rows = slice(row, row := row + about.frames)  # [frames, samples]; in the batch, frames follow one another
            where = read.offsets[rows].T.reshape(-1), read.lengths[rows].T.reshape(-1)
            encoded[name] = Encoded(about, read.block, *where)
        return _Read(planned, read, encoded)

    def _decode(self, read: _Read) -> Batch | Pair:
        """Decode: the pixels of each field, the same crop for all; then what else belongs to the batch."""
        planned, selection, errors = read.planned, self._selection, dict(read.bytes.errors())
        ids, padding = planned.ids, planned.wanted.padding
        pixels, warned = self._decoder.decode(planned, read.encoded, errors)
        read.bytes.release()
        labels = planned.labels
        if errors:
            if not self._skips:
                raise selection.filed(errors[min(errors)], int(ids[min(errors)]))
            kept = np.setdiff1d(np.arange(len(ids)), list(errors))
            padding = int((kept >= len(ids) - padding).sum())
            ids, labels = ids[kept], {name: chosen(values, kept) for name, values in labels.items()}
            pixels = {name: compacted(array, kept) for name, array in pixels.items()}
        planned.tally.made(len(ids), warned=warned, errors={int(planned.ids[at]): errors[at] for at in sorted(errors)})
        values = {name: self._decoder.valued(name, array) for name, array in pixels.items()} | labels
        if selection.is_pair:
            return Pair(values[selection.leader], labels[next(iter(labels))], ids, padding)
        return Batch({name: values[name] for name in selection.names}, ids, padding)

    # What the user calls.

    def __len__(self) -> int:
        """Count the batches of an epoch."""
        return len(self._course)

    def __iter__(self) -> Iterator[Any]:
        return self._started(1)

    def epochs(self, count: int) -> Iterator[Iterator[Any]]:
        """Yield the batches of `count` epochs, epoch by epoch: while one ends, the next is being loaded already.

        An epoch that is left early is not gone on with: the next one begins.
        """
        end = self.epoch + whole_number(count, what="epochs", least=0)
        while self.epoch < end:
            first = self.epoch
            batches = self._started(end - first)
            for epoch in range(first, end):
                yield islice(batches, self._course.batches_left(epoch))
                if self._course.batches_left(epoch):
                    self._course.set_epoch(epoch + 1)
                    break
            batches.close()

    def state_dict(self) -> dict[str, Any]:
        """Say where the run is, after the batch that was delivered last: small, JSON's values, on each rank its own."""
        return self._course.state()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a run was that had the same dataset, seed and shuffle; the next iteration is its epoch's rest.

        Batch size, threads, memory and the number of ranks may differ. `set_epoch` with the epoch of the state keeps
        the place in it.
        """
        self._course.load(state)

    def load(self, ids: Sequence[int] | NDArray[np.int64], *, epoch: int = 0) -> Any:
        """Load these samples as one batch, now and in this thread; the same pixels as in an iteration of that epoch."""
        self._check_open()
        epoch = whole_number(epoch, what="epoch", least=0)
        planned = self._planner.samples(Wanted(self._selection.numbers(ids)), epoch, Tally())
        return self._decode(self._read(self._batch_reader(), planned))

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is."""
        self._course.set_epoch(whole_number(epoch, what="epoch", least=0))

    def statistics(self) -> LoaderStatistics:
        """Tell what the latest iteration has done so far."""
        return self._tally.statistics(self._selection.file_all, *self.dataset.stored.statistics())

    def close(self) -> None:
        """End iterations under way and the decoding threads."""
        self._is_closed = True  # first: whoever begins an iteration meanwhile sees it, or is seen here
        for pipeline in list(self._running):
            pipeline.close()
        self._decoder.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for pipeline in list(self._running):
                pipeline.leave()
        self.close()

    def __repr__(self) -> str:
        shape = f"{len(self)} batches of {self.batch_size}, depth {self._memory.depth}"
        shape += "" if self._planner.size else ", images decoded whole, one by one"
        return f"Loader({self.dataset!r}, {shape}, {self._plan!r})"

    @property
    def epoch(self) -> int:
        """Which epoch the next iteration is."""
        return self._course.next.epoch

    @property
    def course(self) -> Course:
        """The way through the epochs: order, share, position."""
        return self._course

    @property
    def kinds(self) -> dict[str, Literal["image", "mask", "clip"]]:
        """The binary fields of a batch, and what they are."""
        return self._selection.kinds

    @property
    def layouts(self) -> dict[str, Layout]:
        """In which order a sample of each binary field has its axes."""
        of_images: Layout = "CHW" if self._channels_first else "HWC"
        of_clips: Layout = self._plan.clip_layout if self._channels_first else "THWC"
        return {name: of_clips if kind == "clip" else of_images for name, kind in self.kinds.items()}

    @property
    def plan(self) -> Plan:
        """The transforms, sorted by where they run."""
        return self._plan

    # How it is set up.

    def _started(self, epochs: int) -> Generator[Any, None, None]:
        """Begin an iteration over so many epochs."""
        self._check_open()
        start, self._tally = self._course.start(epochs), Tally(self._lost)
        return self._read_path(start, epochs, self._tally)

    def _check_open(self) -> None:
        if self._is_closed:
            raise UsageError("the loader is closed", hint="make another one; `with` closes it where its block ends")

    def _check_transforms(self) -> None:
        """See that the transforms go with the fields and with how batches are delivered."""
        masks, plan = self._selection.masks, self._plan
        moved = [one.name for one in plan.rest if isinstance(one, Foreign) and one.moves_pixels]
        if masks and moved:
            raise UsageError(f"{moved[0]} would move images but not their masks", hint="leave the masks or it out")
        if masks and self._orients:
            raise UsageError("EXIF orientations are those of images, not of their masks", got="exif_orientation=True")
        if plan.rest and not self._delivery.runs_rest:
            raise UsageError(f"{plan!r} has transforms that run on tensors", hint="use penstock.torch.Loader for them")
        if plan.values.dtype == "bfloat16" and not self._delivery.applies_values:
            raise UsageError("NumPy has no bfloat16", hint="use penstock.torch.Loader, or float32")

    def _lay_out(self, budget: int | None) -> BatchMemory:
        """Fix the shapes and types of a batch, and the memory that batches live in."""
        selection, delivery, values = self._selection, self._delivery, self._plan.values
        stored = self.dataset.stored
        most = self._tuning.max_pixels
        # Where images have sizes of their own, a sample counts as a row of so many pixels.
        height, width = self._planner.size or (1, self._planner.image_pixels(self.batch_size, most=most))
        frames, usual, largest = self._choice.frames, self._choice.usual_bytes(), self._choice.most_bytes()
        dtypes = {name: values.mask_dtype if kind == "mask" else values.dtype for name, kind in selection.kinds.items()}
        in_numpy = not delivery.applies_values  # otherwise batches leave decoding as uint8
        self._dtypes = {name: np.dtype(dtype if in_numpy else "uint8") for name, dtype in dtypes.items()}
        channels = {name: 1 if kind == "mask" else 3 for name, kind in selection.kinds.items()}
        return BatchMemory(
            self.batch_size,
            shapes={
                name: shape_of(layout, channels=channels[name], height=height, width=width, frames=frames.get(name, 1))
                for name, layout in self.layouts.items()
            },
            dtypes=self._dtypes,
            encoded_bytes=0 if self._windows else stored.copies * _batch_bytes(usual, self.batch_size),
            largest_bytes=0 if self._windows else stored.copies * _largest_batch_bytes(largest, self.batch_size),
            arena_bytes=self._windows.memory_bytes if self._windows else 0,
            under_way_bytes=stored.under_way_bytes,
            calls=self._calls,
            later=None if in_numpy else dtypes if delivery.stays_in_host_memory else {},
            budget=budget,
            allocate=delivery.allocate,
            recycles=delivery.recycles,
        )

    def _reader(self) -> Reader:
        """Make what reads the batches of an iteration."""
        return self._batch_reader() if self._windows is None else self._windows.reader(self._memory.size_bytes)

    def _batch_reader(self) -> BatchReader:
        return BatchReader(self.dataset, tuple(self._selection.kinds), self._memory)


class _HasCourse(Protocol):
    @property
    def course(self) -> Course: ...


def verify_resume(loader: _HasCourse, states: Sequence[Mapping[str, Any]]) -> None:
    """See that states of a run belong to this loader's order, and that what each rank delivered is what it gives.

    `states` are those that all ranks saved after the same batch, or that of one of them. Each carries a digest of the
    samples delivered since its process began or resumed; the order is computed anew and compared.
    """
    check_states(loader.course, states)


def _arrived(read: _Read) -> _Read:
    """Wait until a batch's bytes are there: decoding would wait, too, but this is not its time."""
    read.bytes.errors()
    return read


def check_whole(dataset: Dataset) -> None:
    """See that every file of an untouched folder that should be a sample is one."""
    if dataset.lost:
        first = dataset.lost[0]
        hint = "mend or remove them (`penstock info` lists them), or leave them out, counted, with on_error='skip'"
        got = f"{len(dataset.lost)}, the first {first.outcome}: {first.why}"
        raise SourceError("the folder has files that cannot be samples", file=first.name, got=got, hint=hint)


def _batch_bytes(lengths: Mapping[str, NDArray[np.int64]], batch_size: int) -> int:
    """Expect so many encoded bytes in a batch, with a quarter to spare for batches above the average."""
    sample_bytes = sum(float(one.mean()) if len(one) else 0.0 for one in lengths.values())
    return int(1.25 * batch_size * sample_bytes) + 1


def _largest_batch_bytes(lengths: Mapping[str, NDArray[np.int64]], batch_size: int) -> int:
    """Count the encoded bytes of the largest batch that there can be: that of the largest samples."""
    sizes = np.sum(list(lengths.values()), axis=0)
    few = min(batch_size, len(sizes))
    return int(np.partition(sizes, -few)[-few:].sum()) if few else 0


def _extent(dataset: Dataset) -> Extent:
    return Extent(len(dataset), sum(int(dataset.column(field).length.sum()) for field in dataset.fields), dataset.parts)
