"""penstock for PyTorch: the only library module that imports torch.

`Loader` is `penstock.Loader` with tensors: the same samples, order and pixels. With `device` a thread of its own moves
batches there ahead of their use, as uint8, and applies dtype and normalisation there; a CPU device goes through the
same code. Transforms that are not ours run last, in the consumer's thread. Where one of them is to fix the size, images
come there one by one: they are a list of tensors until all have one size, and a batch from then on.

`Dataset` is for a stock `torch.utils.data.DataLoader`: each worker process decodes in its own thread, whatever way it
was started. A `Loader` is faster: it needs no processes, no collation and no copies between them.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import torch

from penstock import loader
from penstock.dataset import Dataset as StoredDataset
from penstock.dataset import dataset_of
from penstock.errors import UsageError
from penstock.loader import Delivery, LoaderStatistics, Tuning
from penstock.order.mix import mix_key
from penstock.pipeline.options import one_of, whole_number
from penstock.transforms import Normalize, Plan, ToDtype
from penstock.transforms.torchvision import Foreign
from penstock.types import Batch, Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from penstock.order import Shuffle
    from penstock.order.course import Course

__all__ = ["Dataset", "Loader"]

MIXING = -1  # takes the place of a sample id in the randomness of transforms that mix a batch


@final
class Loader:
    """Batches of tensors: `for images, labels in loader`. The arguments of `penstock.Loader`, and where tensors live.

    `pin_memory` makes batches in page-locked memory (default: when `device` is a GPU); `device` moves them there ahead
    of use. `memory_format=torch.channels_last` lays images out as [B, H, W, C] under a [B, C, H, W] tensor.
    """

    def __init__(
        self,
        dataset: StoredDataset | str | os.PathLike[str],
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
        exif_orientation: bool = False,
        pin_memory: bool | None = None,
        device: torch.device | str | None = None,
        memory_format: torch.memory_format = torch.contiguous_format,
        tuning: Tuning | None = None,
    ) -> None:
        if memory_format not in {torch.contiguous_format, torch.channels_last}:
            raise UsageError("memory_format", got=memory_format, expected="contiguous_format or channels_last")
        target = None if device is None else torch.device(device)
        if target is not None and target.type == "cuda" and not torch.cuda.is_available():
            built = "no GPU that torch can use" if torch.version.cuda or torch.version.hip else "a torch without CUDA"
            raise UsageError("there is no such device here", got=f"device={device!r}, {built}", hint="leave device out")
        is_pinned = (target is not None and target.type == "cuda") if pin_memory is None else pin_memory
        if is_pinned and not torch.cuda.is_available():
            raise UsageError("page-locked memory needs a GPU", got="pin_memory=True", hint="leave pin_memory out")
        if (
            rank is None
            and world_size is None
            and torch.distributed.is_available()
            and torch.distributed.is_initialized()
        ):
            rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        plan = Plan(transforms)
        in_torch = target is not None or plan.values.dtype == "bfloat16"  # otherwise the decoding threads do it
        self._seed = seed
        self._tensors = _Tensors(plan, in_torch=in_torch)
        self._transfer = None if target is None else _Transfer(target, self._tensors)
        self._loader = loader.Loader(
            dataset,
            batch_size=batch_size,
            transforms=plan,
            fields=fields,
            shuffle=shuffle,
            seed=seed,
            rank=rank,
            world_size=world_size,
            drop_last=drop_last,
            pad_last=pad_last,
            threads=threads,
            memory=memory,
            on_error=on_error,
            channels_first=memory_format == torch.contiguous_format,
            exif_orientation=exif_orientation,
            tuning=tuning,
            delivery=Delivery(
                allocate=_pinned if is_pinned else None,
                # Who is handed page-locked memory copies from it without waiting, and drops it while the copy is
                # queued: `images.to("cuda", non_blocking=True)`. Only our own transfer waits before it lets go.
                recycles=not is_pinned or (self._transfer is not None and self._transfer.waits),
                finish=self._transfer,
                applies_values=in_torch,
                stays_in_host_memory=target is None or target.type == "cpu",
                runs_rest=True,
            ),
        )
        self._tensors.lay_out(self._loader.kinds, channels_first=memory_format == torch.contiguous_format)

    def __len__(self) -> int:
        """Count the batches of an epoch."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        epoch = self._loader.epoch
        return self._finished(iter(self._loader), epoch)

    def epochs(self, count: int) -> Iterator[Iterator[Any]]:
        """Yield the batches of `count` epochs, epoch by epoch: while one ends, the next is being loaded already."""
        first = self._loader.epoch
        for epoch, batches in enumerate(self._loader.epochs(count), first):
            yield self._finished(batches, epoch)

    def _finished(self, batches: Iterator[Any], epoch: int) -> Iterator[Any]:
        """Do in the consumer's thread what is to be done there."""
        make = self._tensors.make if self._transfer is None else self._transfer.take
        # `map` lets go of each batch as it hands it on: when the consumer drops it, its memory can be used again.
        return map(partial(self._tensors.rest, seed=self._seed, epoch=epoch), map(make, batches))

    def state_dict(self) -> dict[str, Any]:
        """Say where the run is, after the batch that was delivered last: small, JSON's values, on each rank its own."""
        return self._loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a run was that had the same dataset, seed and shuffle; see `penstock.Loader`."""
        self._loader.load_state_dict(state)

    @property
    def course(self) -> Course:
        """The way through the epochs: order, share, position."""
        return self._loader.course

    @property
    def epoch(self) -> int:
        """Which epoch the next iteration is."""
        return self._loader.epoch

    @property
    def dataset(self) -> StoredDataset:
        """What is loaded."""
        return self._loader.dataset

    @property
    def batch_size(self) -> int:
        """The samples of a full batch."""
        return self._loader.batch_size

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is."""
        self._loader.set_epoch(epoch)

    def statistics(self) -> LoaderStatistics:
        """Tell what the latest iteration has done so far."""
        return self._loader.statistics()

    def close(self) -> None:
        """End iterations under way and the decoding threads."""
        self._loader.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._loader.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"torch.{self._loader!r}"


@final
class Dataset(torch.utils.data.Dataset[Any]):
    """Samples by number for a stock DataLoader: (image, label), or a dict of fields and labels.

    Works under any start method: nothing is opened and no thread started until a process asks for its first sample.
    `set_epoch` reaches workers that are running already. Batches are fetched whole (`__getitems__`).

    A sample that cannot be loaded is an error, since each number has to give one. `on_error` is about the files of an
    untouched folder that should be samples and are none: "raise" stops at them, "skip" leaves them out.
    """

    def __init__(
        self,
        dataset: StoredDataset | str | os.PathLike[str],
        *,
        transforms: Any = (),
        fields: Sequence[str] | None = None,
        seed: int = 0,
        on_error: Literal["raise", "skip"] = "raise",
        exif_orientation: bool = False,
        tuning: Tuning | None = None,
    ) -> None:
        one_of(("raise", "skip"), on_error, what="on_error")
        self.dataset = dataset_of(dataset)
        if on_error == "raise":
            loader.check_whole(self.dataset)
        self._seed = seed
        self._fields, self._orients, self._tuning = fields, exif_orientation, tuning
        self._plan = Plan(transforms)
        self._epoch: torch.Tensor = torch.zeros(1, dtype=torch.int64)
        self._epoch.share_memory_()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._own: tuple[int, loader.Loader, _Tensors] | None = None

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, number: int) -> Any:
        number, count = whole_number(number, what="a sample's number"), len(self)
        if not -count <= number < count:
            raise IndexError(f"sample {number} of {count}")
        return self.__getitems__([number % count])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        """Give several samples; DataLoader asks for a batch's at once."""
        inner, tensors = self._for_this_process()
        epoch = int(self._epoch[0])
        batch = tensors.rest(tensors.make(inner.load(numbers, epoch=epoch)), seed=self._seed, epoch=epoch)
        if isinstance(batch, Pair):
            return list(zip(batch.images, batch.labels, strict=True))
        return [{name: values[i] for name, values in batch.items()} for i in range(len(numbers))]

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the augmentation is drawn for."""
        self._epoch[0] = whole_number(epoch, what="epoch", least=0)

    def _for_this_process(self) -> tuple[loader.Loader, _Tensors]:
        """Make the decoder at the first call in a process; one that was inherited by a fork is left alone."""
        if self._own is None or self._own[0] != os.getpid():
            in_torch = self._plan.values.dtype == "bfloat16"
            inner = loader.Loader(
                self.dataset,
                batch_size=1,
                rank=0,
                world_size=1,
                transforms=self._plan,
                threads=0,
                delivery=Delivery(applies_values=in_torch, runs_rest=True, knows_lost=True),
                fields=self._fields,
                seed=self._seed,
                exif_orientation=self._orients,
                tuning=self._tuning,
            )
            tensors = _Tensors(self._plan, in_torch=in_torch)
            tensors.lay_out(inner.kinds, channels_first=True)
            self._own = (os.getpid(), inner, tensors)
        return self._own[1:]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_own": None}


@final
class _Tensors:
    """Turns batches of arrays into tensors, and does to them what is left to do."""

    def __init__(self, plan: Plan, *, in_torch: bool) -> None:
        self._plan = plan
        self._in_torch = in_torch
        self._kinds: dict[str, str] = {}
        self._channels_first = True

    def lay_out(self, kinds: dict[str, Any], *, channels_first: bool) -> None:
        """Learn what the fields are."""
        self._kinds = {"images": "image", **kinds}
        self._channels_first = channels_first

    def make(self, batch: Any) -> Any:
        """Arrays to tensors, without copies; then values, where they are ours to do."""
        return self.valued(_mapped(batch, self._tensor))

    def _tensor(self, name: str, value: Any) -> Any:
        if name in self._kinds:
            return _each(value, _tensor_over if self._channels_first else lambda one: _tensor_over(one).movedim(-1, -3))
        return _tensor_over(value) if isinstance(value, np.ndarray) else value  # a list: labels that are not numbers

    def valued(self, batch: Any) -> Any:
        """Apply dtype and normalisation, on whatever device the batch is."""
        values = self._plan.values
        if not self._in_torch:
            return batch

        def change(name: str, value: Any) -> Any:
            kind = self._kinds.get(name)
            if kind == "mask":
                return value.to(getattr(torch, values.mask_dtype))
            if kind != "image" or not values.changes_images:
                return value
            return _each(value, apply)

        def apply(images: torch.Tensor) -> torch.Tensor:
            dtype = getattr(torch, values.dtype)
            wide = dtype if dtype == torch.float64 else torch.float32
            factors, shifts = (_per_channel(numbers, wide, images) for numbers in (values.factors, values.shifts))
            return images.to(wide).mul_(factors).add_(shifts).to(dtype)

        return _mapped(batch, change)

    def rest(self, batch: Any, *, seed: int, epoch: int) -> Any:
        """Run the transforms that are not ours, each in the manner that it needs."""
        if not self._plan.rest:
            return batch
        batch = _mapped(batch, lambda name, value: _stacked(value) if name in self._kinds else value)
        for transform in self._plan.rest:
            if isinstance(transform, Foreign) and transform.needs_labels:
                if not len(batch.ids):
                    continue  # every sample was skipped: nothing to mix, and no sample to name the randomness by
                batch = self._mixed(transform, batch, mix_key(seed, epoch, int(batch.ids[0]), MIXING))
                continue
            keys = [mix_key(seed, epoch, number) for number in batch.ids.tolist()]
            batch = _mapped(batch, partial(self._one, transform, keys))
        return _mapped(batch, partial(self._of_one_size, batch.ids))

    def _of_one_size(self, ids: NDArray[np.int64], name: str, value: Any) -> Any:
        """See that images are a batch, and not several of several sizes."""
        if name not in self._kinds or not isinstance(value, list):
            return value
        if not value:
            return torch.empty(0, 3, 0, 0)  # every sample was skipped, and which size they would have had is unknown
        first = value[0].shape
        at = next(at for at, one in enumerate(value) if one.shape != first)
        raise UsageError(
            f"the images of a batch differ in size after {self._plan.told_rest}",
            sample=int(ids[at]),
            got=f"{list(value[at].shape)} and {list(first)}",
            expected="one size",
            hint="end with a transform that fixes the size, such as RandomResizedCrop(224)",
        )

    def _one(self, transform: Foreign | ToDtype | Normalize, keys: list[int], name: str, value: Any) -> Any:
        if self._kinds.get(name) != "image":
            return value
        if isinstance(transform, ToDtype):
            return _each(value, partial(_to_dtype, transform=transform))
        if isinstance(transform, Normalize):
            return _each(value, partial(_normalized, transform=transform))
        if transform.runs_on_batch or not len(value):
            return _stacked(_each(value, partial(_image_of, transform)))
        with torch.random.fork_rng(devices=[]):
            call = partial(_image_of, transform)
            return _stacked([_seeded(call, key, one) for key, one in zip(keys, value, strict=True)])

    @staticmethod
    def _mixed(transform: Foreign, batch: Any, key: int) -> Pair:
        if not isinstance(batch, Pair):
            raise UsageError(f"{transform.name} mixes images and labels", hint="choose one image field and one label")
        if isinstance(batch.images, list):
            raise UsageError(f"{transform.name} mixes images of one size", hint="put a crop of fixed size before it")
        with torch.random.fork_rng(devices=[]):
            mixed = _seeded(transform.transform, key, batch.images, batch.labels)
        if not isinstance(mixed, (tuple, list)) or len(mixed) != 2:
            raise UsageError(f"{transform.name} mixes images and labels", got=type(mixed), expected="both in return")
        images, labels = mixed
        return Pair(images, labels, batch.ids, batch.padding)


@final
class _Transfer:
    """Moves batches to a device ahead of their use: called by a thread of the pipeline, taken over by the consumer."""

    def __init__(self, device: torch.device, tensors: _Tensors) -> None:
        self._device = device
        self._tensors = tensors
        self._stream: torch.cuda.Stream | None = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch leaves it untyped

    @property
    def waits(self) -> bool:
        """Whether copies from a batch have ended when it is let go of."""
        return self._stream is not None

    def __call__(self, batch: Any) -> Any:
        """Copy and apply values, on a stream of our own, and wait until it is done: then the source may be recycled."""
        with nullcontext() if self._stream is None else torch.cuda.stream(self._stream):
            plain = _mapped(batch, self._tensors._tensor)  # noqa: SLF001  of this file
            moved = self._tensors.valued(_mapped(plain, lambda _, value: _each(value, self._moved)))
        if self._stream is not None:
            self._stream.synchronize()
        return moved

    def _moved(self, value: Any) -> Any:
        return value.to(self._device, non_blocking=self.waits) if isinstance(value, torch.Tensor) else value

    def take(self, batch: Any) -> Any:
        """Tell the allocator that the consumer's stream uses the batch, so that it is not reused too early."""
        if self._stream is not None:
            stream = torch.cuda.current_stream(self._device)
            _mapped(batch, lambda _, value: _each(value, partial(_note_use, stream)))
        return batch


def _mapped(batch: Any, change: Callable[[str, Any], Any]) -> Any:
    """Change every part of a batch."""
    if isinstance(batch, Pair):
        return Pair(change("images", batch.images), change("labels", batch.labels), batch.ids, batch.padding)
    return Batch({name: change(name, value) for name, value in batch.items()}, batch.ids, batch.padding)


def _note_use(stream: torch.cuda.Stream, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        value.record_stream(stream)


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change images: a batch of them at once, or one by one where they have sizes of their own."""
    return [change(one) for one in value] if isinstance(value, list) else change(value)


def _stacked(images: Any) -> Any:
    """Make a batch of a list of images as soon as all have one size."""
    is_even = isinstance(images, list) and len({one.shape for one in images}) == 1
    return torch.stack(images) if is_even else images


def _seeded(function: Callable[..., Any], key: int, *inputs: Any) -> Any:
    """Call a transform with torch's random numbers keyed by name. Only the CPU's generator: others are not touched."""
    torch.default_generator.manual_seed(key % 2**63)
    return function(*inputs)


def _image_of(transform: Foreign, image: torch.Tensor) -> torch.Tensor:
    """Call a transform that is not ours, and see that what comes back is a tensor."""
    found = transform.transform(image)
    if not isinstance(found, torch.Tensor):
        what, hint = f"{transform.name} returned no tensor", "leave it out, or have it return a tensor of pixels"
        raise UsageError(what, got=type(found).__name__, expected="a tensor", hint=hint)
    return found


def _per_channel(numbers: Sequence[float], dtype: torch.dtype, like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(numbers, dtype=dtype, device=like.device).reshape(-1, 1, 1)


def _to_dtype(images: torch.Tensor, transform: ToDtype) -> torch.Tensor:
    name = transform.dtype_name("image")
    dtype = images.dtype if name is None else getattr(torch, name)
    if transform.scale and images.dtype == torch.uint8 and dtype.is_floating_point:
        return images.to(dtype).div_(255)
    if transform.scale and images.is_floating_point() != dtype.is_floating_point:
        raise UsageError("ToDtype: scale=True goes from uint8 to floats", got=f"{images.dtype} to {dtype}")
    return images.to(dtype)


def _normalized(images: torch.Tensor, transform: Normalize) -> torch.Tensor:
    if not images.is_floating_point():
        raise UsageError("Normalize: the batch is not of floats", got=images.dtype, hint="put ToDtype before it")
    mean, std = (_per_channel(numbers, images.dtype, images) for numbers in (transform.mean, transform.std))
    return images.sub(mean).div_(std)


def _tensor_over(array: NDArray[Any]) -> torch.Tensor:
    """Make a tensor over an array's memory. Where that is a tensor's, it stays that tensor's, whatever views it had.

    torch's allocator of page-locked memory knows the copies under way by the tensors they are made from: by the owner
    of a tensor's memory, or else by its first address. A tensor over the bare array would have another owner, and a
    copy from the middle of it, `images[8:].to("cuda", non_blocking=True)`, would go unnoticed.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, torch.Tensor) and owner.data_ptr() == array.ctypes.data and array.flags.c_contiguous:
        dtype = torch.from_numpy(array[:0]).dtype
        return owner[: array.nbytes].view(dtype).reshape(array.shape)
    return torch.from_numpy(array)


def _pinned(size_bytes: int) -> NDArray[np.uint8]:
    """Allocate page-locked memory; the array keeps the tensor whose memory it is."""
    block: NDArray[np.uint8] = torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True).numpy()
    return block
