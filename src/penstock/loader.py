"""READ PATH: samples of a dataset, epoch after epoch, as batches of pixels and labels.

The path is `Loader._read_path`, one screen from top to bottom: order → read → decode → batch. Order and geometry are
computed for thousands of samples at a time, reading runs ahead in a thread of its own, and two decoding calls are
always in flight, so that no core waits for the last image of a batch while the next batch is ready. A batch is made by
array operations and one native call per field; Python holds its lock for a few microseconds per image.

What a batch contains is decided by (seed, epoch, sample id) alone: threads, memory and timing change nothing.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from penstock.dataset import Dataset, open_dataset
from penstock.decode.batch import BatchDecoder, Encoded, Expected
from penstock.decode.image import MAX_PIXELS
from penstock.errors import PenstockError, UsageError
from penstock.order import Draws, Permutation, Sequential
from penstock.order.batches import batch_count, batch_slices, slabs
from penstock.order.mix import mix_key
from penstock.pipeline import Pipeline, Stage
from penstock.pipeline.cores import allowed_cores
from penstock.pipeline.memory import BatchMemory, compacted
from penstock.pipeline.options import one_of, whole_number
from penstock.pipeline.tally import LoaderStatistics, Tally
from penstock.selection import Selection, chosen
from penstock.transforms import Plan
from penstock.transforms.torchvision import Foreign
from penstock.types import Batch, Geometry, Pair

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Delivery", "Loader", "LoaderStatistics", "Tuning"]


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
        one_of(("full", False), shuffle, what="shuffle")
        one_of(("raise", "skip"), on_error, what="on_error")
        seed = whole_number(seed, what="seed")
        memory = None if memory is None else whole_number(memory, what="memory, in bytes", least=1)
        self.dataset = dataset if isinstance(dataset, Dataset) else open_dataset(dataset)
        self.batch_size = whole_number(batch_size, what="batch_size", least=1)
        self._count = batch_count(len(self.dataset), self.batch_size, drop_last=drop_last)
        self._plan = transforms if isinstance(transforms, Plan) else Plan(transforms)
        self._shuffle, self._seed, self._drop_last = shuffle, seed, drop_last
        self._skips = on_error == "skip"
        self._channels_first, self._orients = channels_first, exif_orientation
        self._tuning, self._delivery = tuning or Tuning(), delivery or Delivery()
        self._next_epoch = 0
        self._is_closed = False
        self._tally = Tally()
        self._running: weakref.WeakSet[Pipeline] = weakref.WeakSet()
        self._selection = Selection.of(self.dataset, fields)
        self._check_transforms()
        threads = allowed_cores() if threads is None else whole_number(threads, what="threads", least=0)
        self._calls = self._tuning.decoding_calls if threads else 1
        self._memory = self._lay_out(memory)
        self._decoder = BatchDecoder(threads, max_pixels=self._tuning.max_pixels)

    def _read_path(self, epoch: int, tally: Tally) -> Iterator[Any]:
        """Everything that happens to a sample, in the order in which it happens."""
        count = len(self.dataset)
        order = Permutation(count, mix_key(self._seed, epoch)) if self._shuffle else Sequential(count)
        planned = self._planned(order, epoch, tally)  # _Planned: the ids of a batch, where its crops lie
        stages = [
            Stage("read", self._read, depth=self._memory.depth),  # _Read: their encoded bytes, one block per field
            Stage(
                "decode", self._decode, threads=self._calls, depth=self._memory.depth
            ),  # Pair or Batch: pixels, labels
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
        for name in self._selection.columns:
            got = self.dataset.read(planned.ids, name, self._memory.block(name), collect_errors=True)
            encoded[name] = Encoded(planned.expected[name], got.data, got.offsets, got.lengths)
            errors |= got.errors
            read_bytes += int(got.lengths.sum())
        planned.tally.read(read_bytes)
        return _Read(planned, encoded, errors)

    def _decode(self, read: _Read) -> Batch | Pair:
        """Decode: the pixels of each field, the same crop for all; then what else belongs to the batch."""
        planned, selection, errors, orientations = read.planned, self._selection, dict(read.errors), None
        ids, geometry = planned.ids, planned.geometry
        if geometry is None:
            orientations = self._decoder.orientations(read.encoded[self._selection.leader])
            geometry = self._geometry(ids, planned.epoch, orientations)
        pixels: dict[str, NDArray[Any]] = {}
        warned = 0
        for name, encoded in read.encoded.items():
            pixels[name] = self._memory.pixels(name, len(ids))
            decoded = self._decoder.decode(
                encoded,
                geometry,
                pixels[name],
                channels_first=self._channels_first,
                orientations=orientations,
                leave_out=errors,
            )
            if decoded.errors:
                errors |= {at: selection.located(error, int(ids[at]), name) for at, error in decoded.errors.items()}
            warned += decoded.warned
            self._memory.take_back(encoded.block)
        labels = planned.labels
        if errors:
            if not self._skips:
                raise selection.filed(errors[min(errors)], int(ids[min(errors)]))
            kept = np.setdiff1d(np.arange(len(ids)), list(errors))
            ids, labels = ids[kept], {name: chosen(values, kept) for name, values in labels.items()}
            pixels = {name: compacted(array, kept) for name, array in pixels.items()}
        planned.tally.made(len(ids), warned=warned, errors={int(planned.ids[at]): errors[at] for at in sorted(errors)})
        values = {name: self._valued(name, array) for name, array in pixels.items()} | labels
        if selection.is_pair:
            return Pair(values[selection.leader], labels[next(iter(labels))], ids)
        return Batch({name: values[name] for name in selection.names}, ids)

    # What the user calls.

    def __len__(self) -> int:
        """Count the batches of an epoch."""
        return self._count

    def __iter__(self) -> Iterator[Any]:
        self._check_open()
        epoch, self._next_epoch = self._next_epoch, self._next_epoch + 1
        self._tally = Tally()
        return self._read_path(epoch, self._tally)

    def load(self, ids: Sequence[int] | NDArray[np.int64], *, epoch: int = 0) -> Any:
        """Load these samples as one batch, now and in this thread; the same pixels as in an iteration of that epoch."""
        self._check_open()
        return self._decode(self._read(self._plan_samples(self._selection.numbers(ids), epoch, Tally())))

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is."""
        self._next_epoch = whole_number(epoch, what="epoch")

    def statistics(self) -> LoaderStatistics:
        """Tell what the latest iteration has done so far."""
        return self._tally.statistics(self._selection.file_all)

    def close(self) -> None:
        """End iterations under way and the decoding threads."""
        for pipeline in list(self._running):
            pipeline.close()
        self._is_closed = True
        self._decoder.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for pipeline in list(self._running):
                pipeline.leave()
        self.close()

    def __repr__(self) -> str:
        shape = f"{self._count} batches of {self.batch_size}, depth {self._memory.depth}"
        return f"Loader({self.dataset!r}, {shape}, {self._plan!r})"

    @property
    def epoch(self) -> int:
        """Which epoch the next iteration is."""
        return self._next_epoch

    @property
    def kinds(self) -> dict[str, Literal["image", "mask"]]:
        """The binary fields of a batch, and what they are."""
        return self._selection.kinds

    @property
    def plan(self) -> Plan:
        """The transforms, sorted by where they run."""
        return self._plan

    # How it is set up.

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
        try:
            height, width = self._size = self._plan.output_size(
                selection.widths, selection.heights, lambda ids: Draws.of(self._seed, 0, ids)
            )
        except UsageError as error:
            raise selection.named(error, np.arange(len(self.dataset))) from None
        dtypes = {name: values.mask_dtype if kind == "mask" else values.dtype for name, kind in selection.kinds.items()}
        in_numpy = not delivery.applies_values  # otherwise batches leave decoding as uint8
        self._dtypes = {name: np.dtype(dtype if in_numpy else "uint8") for name, dtype in dtypes.items()}
        channels = {name: 1 if kind == "mask" else 3 for name, kind in selection.kinds.items()}
        return BatchMemory(
            self.batch_size,
            shapes={
                name: (count, height, width) if self._channels_first else (height, width, count)
                for name, count in channels.items()
            },
            dtypes=self._dtypes,
            encoded_bytes={name: selection.batch_bytes(name, self.batch_size) for name in selection.columns},
            calls=self._calls,
            later=None if in_numpy else dtypes if delivery.stays_in_host_memory else {},
            budget=budget,
            allocate=delivery.allocate,
            recycles=delivery.recycles,
        )

    # What the stages need.

    def _plan_samples(self, ids: NDArray[np.int64], epoch: int, tally: Tally) -> _Planned:
        """Look up everything about these samples that is known before reading."""
        verify = self._tuning.verify
        expected = {
            name: Expected.of(column, ids, is_mask=name in self._selection.masks, verify=verify)
            for name, column in self._selection.columns.items()
        }
        labels = self._selection.labels(ids)
        return _Planned(tally, epoch, ids, expected, labels, None if self._orients else self._geometry(ids, epoch))

    def _geometry(self, ids: NDArray[np.int64], epoch: int, orientations: NDArray[np.uint8] | None = None) -> Geometry:
        widths, heights = self._selection.sizes(ids)
        if orientations is not None:  # EXIF 5 … 8 are quarter turns
            turned = orientations >= 5
            widths, heights = np.where(turned, heights, widths), np.where(turned, widths, heights)
        try:
            geometry = self._plan.geometry(widths, heights, Draws.of(self._seed, epoch, ids))
        except UsageError as error:  # an image that is too small for its crop
            raise self._selection.named(error, ids) from None
        if orientations is not None and len(ids) and (geometry.height, geometry.width) != self._size:
            raise UsageError(
                "the images differ in size when they are turned by their orientations",
                got=f"{geometry.width}x{geometry.height}",
                expected=f"{self._size[1]}x{self._size[0]}",
                hint="end with a transform that fixes the size, such as CenterCrop(224) or RandomResizedCrop(224)",
            )
        return geometry

    def _valued(self, name: str, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        """Apply dtype and normalisation, if any."""
        if self._dtypes[name] == np.uint8:
            return pixels
        out = self._memory.values(name, len(pixels))
        if name in self._selection.masks:
            np.copyto(out, pixels)
        else:
            self._plan.values.apply(pixels, out, channel_axis=1 if self._channels_first else 3)
        return out


def _part(geometry: Geometry, part: slice) -> Geometry:
    return replace(geometry, regions=geometry.regions[part], clips=geometry.clips[part], flips=geometry.flips[part])
