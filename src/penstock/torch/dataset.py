"""`Dataset`: samples by number, for a stock `torch.utils.data.DataLoader`.

Each worker process decodes in its own thread, whatever way it was started. A `Loader` is faster: it needs no processes,
no collation and no copies between them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, final

import torch

from penstock.loader import Delivery, Loader, Tuning, check_whole
from penstock.opening import dataset_of
from penstock.pipeline.options import one_of, whole_number
from penstock.torch.tensors import Tensors
from penstock.transforms import Plan
from penstock.types import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.dataset import Dataset as StoredDataset

__all__ = ["Dataset"]


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
            check_whole(self.dataset)
        self._seed = seed
        self._fields, self._orients, self._tuning = fields, exif_orientation, tuning
        self._plan = Plan(transforms)
        self._epoch: torch.Tensor = torch.zeros(1, dtype=torch.int64)
        self._epoch.share_memory_()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._own: tuple[int, Loader, Tensors] | None = None

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

    def _for_this_process(self) -> tuple[Loader, Tensors]:
        """Make the decoder at the first call in a process; one that was inherited by a fork is left alone."""
        if self._own is None or self._own[0] != os.getpid():
            in_torch = self._plan.values.dtype == "bfloat16"
            inner = Loader(
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
            tensors = Tensors(self._plan, in_torch=in_torch)
            tensors.lay_out(inner.kinds, inner.layouts)
            self._own = (os.getpid(), inner, tensors)
        return self._own[1:]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_own": None}
