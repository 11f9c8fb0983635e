"""READ PATH: samples of a dataset, epoch after epoch, as batches of pixels and labels.

The path is `Loader._read_path`, one screen from top to bottom: order → read → decode → batch. Order and geometry are
computed for thousands of samples at a time, reading runs ahead in a thread of its own, and two decoding calls are
always in flight, so that no core waits for the last image of a batch while the next batch is ready. A batch is made by
array operations and one native call per field; Python holds its lock for a few microseconds per image.

What a batch contains is decided by (seed, epoch, sample id) alone: threads, memory and timing change nothing.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import pyarrow as pa

from penstock.dataset import Dataset, open_dataset
from penstock.decode.batch import BatchDecoder, Encoded, Expected
from penstock.decode.image import MAX_PIXELS
from penstock.errors import FormatError, PenstockError, UsageError
from penstock.order import Draws, Permutation, Sequential
from penstock.order.batches import batch_count, batch_slices, slabs
from penstock.order.mix import mix_key
from penstock.pipeline import Pipeline, Reservoir, Stage
from penstock.pipeline.budget import Load, depth_within
from penstock.pipeline.tally import LoaderStatistics, Tally
from penstock.transforms import Plan
from penstock.transforms.torchvision import Foreign
from penstock.types import Batch, Geometry, Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from penstock.types import Column

__all__ = ["Delivery", "Loader", "LoaderStatistics", "Tuning"]

DEFAULT_MEMORY_BYTES = 512 * 2**20
DEFAULT_DEPTH = 2  # granted by default even where it takes more memory than that


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
    finish: Callable[[Any], Any] | None = None  # a last step, in a thread of its own
    applies_values: bool = False  # whether that step does the dtype and normalisation
    runs_rest: bool = False  # whether the caller runs the transforms that are not ours


@final
@dataclass(frozen=True, slots=True)
class _Planned:
    """Samples before anything is read: what the index says of them, and where each output lies in its source."""

    tally: Tally
    epoch: int
    ids: NDArray[np.int64]
    expected: dict[str, Expected]  # by field
    labels: dict[str, Any]
    geometry: Geometry | None  # None: it needs the EXIF orientations, which are read with the images

    def part(self, part: slice) -> _Planned:
        """Give some of the samples: views, no copies."""
        return _Planned(
            self.tally,
            self.epoch,
            self.ids[part],
            {name: expected.part(part) for name, expected in self.expected.items()},
            {name: labels[part] for name, labels in self.labels.items()},
            None if self.geometry is None else _part(self.geometry, part),
        )


@final
@dataclass(frozen=True, slots=True)
class _Read:
    """A batch of encoded bytes by field, and the errors of samples that could not be read, by position."""

    planned: _Planned
    encoded: dict[str, Encoded]
    errors: dict[int, PenstockError]


@final
class Loader:
    """Batches of a dataset, epoch after epoch: `for images, labels in loader`.

    What: `dataset` (or its path); those of its `fields` (images, masks, labels; default: all) that a batch shall have;
    `transforms`, ours or torchvision's. A batch of one image field and one label is a `Pair`, any other a `Batch` with
    names; both know the `ids` of their samples. Images are [B, 3, H, W] (or [B, H, W, 3]: `channels_first=False`) and
    uint8 unless the transforms say otherwise, masks have one channel; labels of numbers are arrays, others lists.
    Batches may be kept as long as one likes: their memory is used again only once they are dropped.

    In which order: `shuffle="full"` is a uniform shuffle, False the order of storage. An iteration is one epoch, every
    sample exactly once (but for `drop_last`); the next iteration is the next epoch unless `set_epoch` says otherwise.

    By which means: `threads` decode (default: one per core; 0: none but the loader's own), `memory` is the budget in
    bytes for everything in flight, from which all depths follow. `on_error="skip"` makes a batch shorter by the
    samples that cannot be loaded and counts them in `statistics()`; "raise" stops at the first.
    """

    def __init__(
        self,
        dataset: Dataset | str | os.PathLike[str],
        *,
        batch_size: int,
        transforms: Any = (),
        fields: Sequence[str] | None = None,
        shuffle: Literal["full", False] = "full",
        seed: int = 0,
        drop_last: bool = False,
        threads: int | None = None,
        memory: int | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        channels_first: bool = True,
        exif_orientation: bool = False,
        tuning: Tuning | None = None,
        delivery: Delivery | None = None,
    ) -> None:
        if shuffle not in {"full", False}:
            raise UsageError("shuffle", got=repr(shuffle), expected='"full" or False')
        if on_error not in {"raise", "skip"}:
            raise UsageError("on_error", got=repr(on_error), expected='"raise" or "skip"')
        self.dataset = dataset if isinstance(dataset, Dataset) else open_dataset(dataset)
        self.batch_size = batch_size
        self._count = batch_count(len(self.dataset), batch_size, drop_last=drop_last)
        self._plan = transforms if isinstance(transforms, Plan) else Plan(transforms)
        self._shuffle, self._seed, self._drop_last = shuffle, seed, drop_last
        self._skips = on_error == "skip"
        self._channels_first, self._orients = channels_first, exif_orientation
        self._tuning, self._delivery = tuning or Tuning(), delivery or Delivery()
        self._next_epoch = 0
        self._tally = Tally()
        self._running: weakref.WeakSet[Pipeline] = weakref.WeakSet()
        self._choose(fields)
        threads = _cores() if threads is None else threads
        self._calls = self._tuning.decoding_calls if threads else 1
        self._lay_out(memory)
        self._decoder = BatchDecoder(threads, max_pixels=self._tuning.max_pixels)

    def _read_path(self, epoch: int, tally: Tally) -> Iterator[Any]:
        """Everything that happens to a sample, in the order in which it happens."""
        count = len(self.dataset)
        order = Permutation(count, mix_key(self._seed, epoch)) if self._shuffle else Sequential(count)
        planned = self._planned(order, epoch, tally)  # _Planned: the ids of a batch, where its crops lie
        stages = [
            Stage("read", self._read, depth=self._depth),  # _Read: their encoded bytes, one block per field
            Stage("decode", self._decode, threads=self._calls, depth=self._depth),  # Pair or Batch: pixels, labels
        ]
        if self._delivery.finish is not None:
            stages.append(Stage("deliver", self._delivery.finish, depth=1))  # the same as tensors, on a device
        pipeline = Pipeline(planned, stages, deadline_seconds=self._tuning.deadline_seconds)
        self._running.add(pipeline)
        tally.begin(pipeline)
        try:
            with pipeline:
                yield from pipeline
        finally:
            tally.end(pipeline)

    def _planned(self, order: Permutation | Sequential, epoch: int, tally: Tally) -> Iterator[_Planned]:
        """Order: all that is known before reading, for thousands of samples at a time, handed on batch by batch."""
        for ids in slabs(order, self.batch_size, drop_last=self._drop_last):
            slab = self._plan_samples(ids, epoch, tally)
            yield from map(slab.part, batch_slices(len(ids), self.batch_size))

    def _read(self, planned: _Planned) -> _Read:
        """Read: the bytes of each field, into a block that was used before."""
        encoded: dict[str, Encoded] = {}
        errors: dict[int, PenstockError] = {}
        read_bytes = 0
        for name, column in self._columns.items():
            got = self.dataset.read(planned.ids, name, self._block(column), collect_errors=True)
            encoded[name] = Encoded(planned.expected[name], got.data, got.offsets, got.lengths)
            errors |= got.errors
            read_bytes += int(got.lengths.sum())
        planned.tally.read(read_bytes)
        return _Read(planned, encoded, errors)

    def _decode(self, read: _Read) -> Batch | Pair:
        """Decode: the pixels of each field, the same crop for all; then what else belongs to the batch."""
        planned, errors, orientations = read.planned, dict(read.errors), None
        ids, geometry = planned.ids, planned.geometry
        if geometry is None:
            orientations = self._decoder.orientations(read.encoded[self._image])
            geometry = self._geometry(ids, planned.epoch, orientations)
        pixels: dict[str, NDArray[Any]] = {}
        warned = 0
        for name, encoded in read.encoded.items():
            pixels[name] = self._array(name, len(ids))
            decoded = self._decoder.decode(
                encoded,
                geometry,
                pixels[name],
                channels_first=self._channels_first,
                orientations=orientations,
                leave_out=errors,
            )
            if decoded.errors:
                errors |= {at: self._located(error, int(ids[at]), name) for at, error in decoded.errors.items()}
            warned += decoded.warned
            self._blocks.append(encoded.block)
        labels = planned.labels
        if errors:
            if not self._skips:
                raise self._filed(errors[min(errors)], int(ids[min(errors)]))
            kept = np.setdiff1d(np.arange(len(ids)), list(errors))
            ids, labels = ids[kept], {name: _only(values, kept) for name, values in labels.items()}
            pixels = {name: _compacted(array, kept) for name, array in pixels.items()}
        planned.tally.made(len(ids), warned=warned, errors=errors)
        values = {name: self._valued(name, array) for name, array in pixels.items()} | labels
        if len(self._columns) == len(labels) == 1 and not self._masks:
            return Pair(values[self._image], labels[next(iter(labels))], ids)
        return Batch({name: values[name] for name in self._names}, ids)

    # What the user calls.

    def __len__(self) -> int:
        """Count the batches of an epoch."""
        return self._count

    def __iter__(self) -> Iterator[Any]:
        epoch, self._next_epoch = self._next_epoch, self._next_epoch + 1
        self._tally = Tally()
        return self._read_path(epoch, self._tally)

    def load(self, ids: Sequence[int] | NDArray[np.int64], *, epoch: int = 0) -> Any:
        """Load these samples as one batch, now and in this thread; the same pixels as in an iteration of that epoch."""
        return self._decode(self._read(self._plan_samples(np.asarray(ids, np.int64), epoch, Tally())))

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is."""
        self._next_epoch = epoch

    def statistics(self) -> LoaderStatistics:
        """Tell what the latest iteration has done so far."""
        return self._tally.statistics()

    def close(self) -> None:
        """End iterations under way and the decoding threads."""
        for pipeline in list(self._running):
            pipeline.close()
        self._decoder.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"Loader({self.dataset!r}, {self._count} batches of {self.batch_size}, depth {self._depth}, {self._plan!r})"
        )

    @property
    def epoch(self) -> int:
        """Which epoch the next iteration is."""
        return self._next_epoch

    @property
    def kinds(self) -> dict[str, Literal["image", "mask"]]:
        """The binary fields of a batch, and what they are."""
        return {name: "mask" if name in self._masks else "image" for name in self._columns}

    @property
    def plan(self) -> Plan:
        """The transforms, sorted by where they run."""
        return self._plan

    # How it is set up.

    def _choose(self, fields: Sequence[str] | None) -> None:
        """Choose the fields of a batch, and see that they go together."""
        dataset = self.dataset
        known = (*dataset.fields, *dataset.label_names)
        self._names = tuple(known if fields is None else fields)
        if unknown := [name for name in self._names if name not in known]:
            raise UsageError("the dataset has no such field", got=unknown, expected=f"some of {list(known)}")
        self._columns = {name: dataset.column(name) for name in self._names if name in dataset.fields}
        self._labels = {name: dataset.labels(name) for name in self._names if name in dataset.label_names}
        if not self._columns:
            raise UsageError("a batch has at least one image field", got=list(self._names), expected=dataset.fields)
        self._masks = frozenset(name for name in self._columns if name.endswith("mask"))
        self._image = next((name for name in self._columns if name not in self._masks), next(iter(self._columns)))
        self._check_sizes()
        moved = [one.name for one in self._plan.rest if isinstance(one, Foreign) and one.moves_pixels]
        if self._masks and moved:
            raise UsageError(f"{moved[0]} would move images but not their masks", hint="leave the masks or it out")
        if self._masks and self._orients:
            raise UsageError("EXIF orientations are those of images, not of their masks", got="exif_orientation=True")
        if self._plan.rest and not self._delivery.runs_rest:
            raise UsageError(
                f"{self._plan!r} has transforms that run on tensors", hint="use penstock.torch.Loader for them"
            )
        if self._plan.values.dtype == "bfloat16" and not self._delivery.applies_values:
            raise UsageError("NumPy has no bfloat16", hint="use penstock.torch.Loader, or float32")

    def _check_sizes(self) -> None:
        """See that one crop can serve all fields of a sample."""
        first = self._columns[self._image]
        for name, column in self._columns.items():
            other = np.flatnonzero((column.width != first.width) | (column.height != first.height))
            if other.size:
                at = int(other[0])
                raise FormatError(
                    f"{name} and {self._image} differ in size, so no crop can serve both ({other.size} samples)",
                    sample=self.dataset.key(at),
                    got=f"{column.width[at]}x{column.height[at]}",
                    expected=f"{first.width[at]}x{first.height[at]}",
                )

    def _lay_out(self, memory: int | None) -> None:
        """Fix the shapes of a batch, how many may be in flight, and the memory they live in."""
        first = self._columns[self._image]
        height, width = self._plan.output_size(first.width, first.height, lambda ids: Draws.of(self._seed, 0, ids))
        values, does_values = self._plan.values, not self._delivery.applies_values
        self._dtypes = {
            name: np.dtype((values.mask_dtype if name in self._masks else values.dtype) if does_values else "uint8")
            for name in self._columns
        }
        self._shapes = {
            name: (channels, height, width) if self._channels_first else (height, width, channels)
            for name, channels in ((name, 1 if name in self._masks else 3) for name in self._columns)
        }
        pixels = {name: self.batch_size * int(np.prod(shape)) for name, shape in self._shapes.items()}
        sizes = {name: pixels[name] * dtype.itemsize for name, dtype in self._dtypes.items()}
        load = Load(
            encoded_bytes=sum(_batch_bytes(column, self.batch_size) for column in self._columns.values()),
            decoded_bytes=sum(sizes.values()),
            calls=self._calls,
            later=0 if self._delivery.finish is None else 2,
        )
        budget = max(DEFAULT_MEMORY_BYTES, load.bytes_at(DEFAULT_DEPTH)) if memory is None else memory
        self._depth = depth_within(budget, load)
        spare = self._depth + self._calls + 2
        make = {} if self._delivery.allocate is None else {"allocate": self._delivery.allocate}
        self._results = {name: Reservoir(size, spare=spare, **make) for name, size in sizes.items()}
        # Pixels that are about to become other values are uint8 for a moment, one array per decoding call.
        self._scratch = {name: Reservoir(size, spare=self._calls) for name, size in pixels.items()}
        self._blocks: deque[NDArray[np.uint8]] = deque(maxlen=spare * len(self._columns))

    # What the stages need.

    def _plan_samples(self, ids: NDArray[np.int64], epoch: int, tally: Tally) -> _Planned:
        """Look up everything about these samples that is known before reading."""
        verify = self._tuning.verify
        expected = {
            name: Expected.of(column, ids, is_mask=name in self._masks, verify=verify)
            for name, column in self._columns.items()
        }
        labels = {name: _labels(column, ids) for name, column in self._labels.items()}
        return _Planned(tally, epoch, ids, expected, labels, None if self._orients else self._geometry(ids, epoch))

    def _geometry(self, ids: NDArray[np.int64], epoch: int, orientations: NDArray[np.uint8] | None = None) -> Geometry:
        column = self._columns[self._image]
        widths, heights = column.width[ids], column.height[ids]
        if orientations is not None:  # EXIF 5 … 8 are quarter turns
            turned = orientations >= 5
            widths, heights = np.where(turned, heights, widths), np.where(turned, widths, heights)
        return self._plan.geometry(widths, heights, Draws.of(self._seed, epoch, ids))

    def _block(self, column: Column) -> NDArray[np.uint8]:
        """Give memory for encoded bytes, used before if there is some."""
        try:
            return self._blocks.pop()
        except IndexError:
            return np.empty(_batch_bytes(column, self.batch_size), np.uint8)

    def _array(self, name: str, count: int) -> NDArray[np.uint8]:
        shape = (count, *self._shapes[name])
        if count > self.batch_size:  # `load` was asked for more than a batch
            return np.empty(shape, np.uint8)
        return (self._results if self._dtypes[name] == np.uint8 else self._scratch)[name].array(shape)

    def _valued(self, name: str, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        """Apply dtype and normalisation, if any."""
        dtype = self._dtypes[name]
        if dtype == np.uint8:
            return pixels
        fits = len(pixels) <= self.batch_size
        out = self._results[name].array(pixels.shape, dtype) if fits else np.empty(pixels.shape, dtype)
        if name in self._masks:
            np.copyto(out, pixels)
        else:
            self._plan.values.apply(pixels, out, channel_axis=1 if self._channels_first else 3)
        return out

    def _located(self, error: PenstockError, number: int, name: str) -> PenstockError:
        """Say in an error which sample and which bytes it is about."""
        column = self._columns[name]
        error.sample = self.dataset.key(number)
        error.byte_range = (int(column.offset[number]), int(column.offset[number] + column.length[number]))
        return error

    def _filed(self, error: PenstockError, number: int) -> PenstockError:
        """Say in an error which file it is about."""
        if error.file is None:
            error.file = str(self.dataset.select([number]).index.column("file")[0])
        return error


def _cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _batch_bytes(column: Column, batch_size: int) -> int:
    """Expect so many encoded bytes in a batch, with a quarter to spare for batches above the average."""
    return int(1.25 * batch_size * float(column.length.mean())) + 1 if len(column) else 0


def _part(geometry: Geometry, part: slice) -> Geometry:
    return replace(geometry, regions=geometry.regions[part], clips=geometry.clips[part], flips=geometry.flips[part])


def _labels(column: NDArray[Any] | pa.ChunkedArray, ids: NDArray[np.int64]) -> NDArray[Any] | list[Any]:
    """Give the labels of some samples: numbers as an array, anything else as a list."""
    return column[ids] if isinstance(column, np.ndarray) else column.take(pa.array(ids)).to_pylist()


def _only(labels: NDArray[Any] | list[Any], kept: NDArray[np.intp]) -> NDArray[Any] | list[Any]:
    return labels[kept] if isinstance(labels, np.ndarray) else [labels[at] for at in kept.tolist()]


def _compacted(array: NDArray[Any], kept: NDArray[np.intp]) -> NDArray[Any]:
    """Move the samples that are kept to the front, in place, and give just those."""
    for to, at in enumerate(kept.tolist()):
        if to != at:
            array[to] = array[at]
    return array[: len(kept)]
