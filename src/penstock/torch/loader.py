"""`Loader`: batches of tensors, on the device where they are used.

It is `penstock.Loader` with tensors: the same samples, order and pixels. With `device` a thread of its own moves
batches there ahead of their use, as uint8, and applies dtype and normalisation there; a CPU device goes through the
same code. Transforms that are not ours run last, in the consumer's thread. Where one of them is to fix the size, images
come there one by one: they are a list of tensors until all have one size, and a batch from then on.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, final

import torch

from penstock.errors import UsageError
from penstock.loader import Delivery, LoaderStatistics, Tuning
from penstock.loader import Loader as ArrayLoader
from penstock.torch.pinning import check_pinning, pinned
from penstock.torch.tensors import Tensors
from penstock.torch.transfer import Transfer
from penstock.transforms import Plan

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.dataset import Dataset
    from penstock.order import Shuffle
    from penstock.order.course import Course
    from penstock.pipeline import Trace

__all__ = ["Loader"]


@final
class Loader:
    """Batches of tensors: `for images, labels in loader`. The arguments of `penstock.Loader`, and where tensors live.

    `pin_memory` makes batches in page-locked memory (default: when `device` is a GPU); `device` moves them there ahead
    of use. `memory_format=torch.channels_last` lays images out as [B, H, W, C] under a [B, C, H, W] tensor. So it does
    with clips, [B, T, H, W, C] under [B, C, T, H, W], which torch calls `channels_last_3d`.
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
        exif_orientation: bool = False,
        pin_memory: bool | None = None,
        device: torch.device | str | None = None,
        memory_format: torch.memory_format = torch.contiguous_format,
        trace: Trace | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        if memory_format not in {torch.contiguous_format, torch.channels_last}:
            raise UsageError("memory_format", got=memory_format, expected="contiguous_format or channels_last")
        target = None if device is None else torch.device(device)
        if target is not None and target.type == "cuda" and not torch.cuda.is_available():
            built = "no GPU that torch can use" if torch.version.cuda or torch.version.hip else "a torch without CUDA"
            raise UsageError("there is no such device here", got=f"device={device!r}, {built}", hint="leave device out")
        is_pinned = (target is not None and target.type == "cuda") if pin_memory is None else pin_memory
        if is_pinned:
            check_pinning()
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
        self._tensors = Tensors(plan, in_torch=in_torch)
        self._transfer = None if target is None else Transfer(target, self._tensors)
        self._loader = ArrayLoader(
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
            trace=trace,
            tuning=tuning,
            delivery=Delivery(
                allocate=pinned if is_pinned else None,
                # Who is handed page-locked memory copies from it without waiting, and drops it while the copy is
                # queued: `images.to("cuda", non_blocking=True)`. Only our own transfer waits before it lets go.
                recycles=not is_pinned or (self._transfer is not None and self._transfer.waits),
                finish=self._transfer,
                applies_values=in_torch,
                stays_in_host_memory=target is None or target.type == "cpu",
                runs_rest=True,
            ),
        )
        self._tensors.lay_out(self._loader.kinds, self._loader.layouts)

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
    def dataset(self) -> Dataset:
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
