"""Batches of arrays become batches of tensors; then what is left to do is done to them.

Left to do are dtype and normalisation, where they are applied on a device or NumPy lacks the type, and the transforms
that are not ours. Those draw their random numbers by name: (seed, epoch, sample id).

Clips are handed to them as torchvision takes videos, [T, C, H, W], and come back in the layout that was asked for. One
call serves all frames of a clip, so they are all treated alike.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from penstock.errors import UsageError
from penstock.order.mix import mix_key
from penstock.transforms import Normalize, Plan, ToDtype
from penstock.transforms.torchvision import Foreign
from penstock.types import Batch, Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Tensors", "each", "mapped"]

MIXING = -1  # takes the place of a sample id in the randomness of transforms that mix a batch


@final
class Tensors:
    """Turns batches of arrays into tensors, and does to them what is left to do."""

    def __init__(self, plan: Plan, *, in_torch: bool) -> None:
        self._plan = plan
        self._in_torch = in_torch
        self._kinds: Mapping[str, str] = {}
        self._layouts: Mapping[str, str] = {}  # in memory

    def lay_out(self, kinds: Mapping[str, str], layouts: Mapping[str, str]) -> None:
        """Learn what the fields are. That of a pair goes by the name of images."""
        leader = next(name for name in (*(name for name, kind in kinds.items() if kind != "mask"), *kinds))
        self._kinds = {"images": kinds[leader], **kinds}
        self._layouts = {"images": layouts[leader], **layouts}

    def _channel_axis(self, name: str) -> int:
        """Say where a field's tensors have their channels, counted from the end."""
        return -4 if self._kinds[name] == "clip" and self._plan.clip_layout == "CTHW" else -3

    def make(self, batch: Any) -> Any:
        """Arrays to tensors, without copies; then values, where they are ours to do."""
        return self.valued(self.plain(batch))

    def plain(self, batch: Any) -> Any:
        """Arrays to tensors, without copies."""
        return mapped(batch, self._tensor)

    def _tensor(self, name: str, value: Any) -> Any:
        if name in self._kinds:
            if not self._layouts[name].endswith("C"):
                return each(value, _tensor_over)
            return each(value, lambda one: _tensor_over(one).movedim(-1, self._channel_axis(name)))
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
            if kind not in {"image", "clip"} or not values.changes_images:
                return value
            return each(value, partial(apply, self._channel_axis(name)))

        def apply(axis: int, images: torch.Tensor) -> torch.Tensor:
            dtype = getattr(torch, values.dtype)
            wide = dtype if dtype == torch.float64 else torch.float32
            factors, shifts = (_per_channel(numbers, wide, images, axis) for numbers in (values.factors, values.shifts))
            return images.to(wide).mul_(factors).add_(shifts).to(dtype)

        return mapped(batch, change)

    def rest(self, batch: Any, *, seed: int, epoch: int) -> Any:
        """Run the transforms that are not ours, each in the manner that it needs."""
        if not self._plan.rest:
            return batch
        batch = mapped(batch, self._turned)
        batch = mapped(batch, lambda name, value: _stacked(value) if name in self._kinds else value)
        for transform in self._plan.rest:
            if isinstance(transform, Foreign) and transform.needs_labels:
                if not len(batch.ids):
                    continue  # every sample was skipped: nothing to mix, and no sample to name the randomness by
                batch = self._mixed(transform, batch, mix_key(seed, epoch, int(batch.ids[0]), MIXING))
                continue
            keys = [mix_key(seed, epoch, number) for number in batch.ids.tolist()]
            batch = mapped(batch, partial(self._one, transform, keys))
        batch = mapped(batch, partial(self._of_one_size, batch.ids))
        return mapped(batch, lambda name, value: self._turned(name, value).contiguous() if self._turns(name) else value)

    def _turns(self, name: str) -> bool:
        return name in self._kinds and self._channel_axis(name) == -4

    def _turned(self, name: str, value: Any) -> Any:
        """Exchange time and channels where they are not in torchvision's order."""
        return each(value, lambda one: one.transpose(-4, -3)) if self._turns(name) else value

    def _of_one_size(self, ids: NDArray[np.int64], name: str, value: Any) -> Any:
        """See that images are a batch, and not several of several sizes."""
        if name not in self._kinds or not isinstance(value, list):
            return value
        if not value:
            # Every sample was skipped, and which size they would have had is unknown.
            return torch.empty(0, 0, 3, 0, 0) if self._kinds[name] == "clip" else torch.empty(0, 3, 0, 0)
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
        if self._kinds.get(name) not in {"image", "clip"}:
            return value
        if isinstance(transform, ToDtype):
            return each(value, partial(_to_dtype, transform=transform))
        if isinstance(transform, Normalize):
            return each(value, partial(_normalized, transform=transform))
        if transform.runs_on_batch or not len(value):
            return _stacked(each(value, partial(_image_of, transform)))
        with torch.random.fork_rng(devices=[]):
            call = partial(_image_of, transform)
            return _stacked([_seeded(call, key, one) for key, one in zip(keys, value, strict=True)])

    @staticmethod
    def _mixed(transform: Foreign, batch: Any, key: int) -> Pair:
        if not isinstance(batch, Pair):
            raise UsageError(f"{transform.name} mixes images and labels", hint="choose one image field and one label")
        if isinstance(batch.images, list):
            raise UsageError(f"{transform.name} mixes images of one size", hint="put a crop of fixed size before it")
        shape, images = batch.images.shape, batch.images
        if images.ndim == 5:  # clips: all frames are mixed alike, as the channels of an image are
            images = images.flatten(1, 2)
        with torch.random.fork_rng(devices=[]):
            mixed = _seeded(transform.transform, key, images, batch.labels)
        if not isinstance(mixed, (tuple, list)) or len(mixed) != 2:
            raise UsageError(f"{transform.name} mixes images and labels", got=type(mixed), expected="both in return")
        images, labels = mixed
        return Pair(images.reshape(shape), labels, batch.ids, batch.padding)


def mapped(batch: Any, change: Callable[[str, Any], Any]) -> Any:
    """Change every part of a batch."""
    if isinstance(batch, Pair):
        return Pair(change("images", batch.images), change("labels", batch.labels), batch.ids, batch.padding)
    return Batch({name: change(name, value) for name, value in batch.items()}, batch.ids, batch.padding)


def each(value: Any, change: Callable[[Any], Any]) -> Any:
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


def _per_channel(numbers: Sequence[float], dtype: torch.dtype, like: torch.Tensor, axis: int = -3) -> torch.Tensor:
    return torch.tensor(numbers, dtype=dtype, device=like.device).reshape(-1, *[1] * (-axis - 1))


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
