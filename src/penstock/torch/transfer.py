"""Batches move to a device ahead of their use."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, final

import torch

from penstock.torch.tensors import each, mapped

if TYPE_CHECKING:
    from penstock.torch.tensors import Tensors

__all__ = ["Transfer"]


@final
class Transfer:
    """Called with a batch by a thread of the pipeline; the consumer takes the moved one over."""

    def __init__(self, device: torch.device, tensors: Tensors) -> None:
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
            plain = self._tensors.plain(batch)
            moved = self._tensors.valued(mapped(plain, lambda _, value: each(value, self._moved)))
        if self._stream is not None:
            self._stream.synchronize()
        return moved

    def _moved(self, value: Any) -> Any:
        return value.to(self._device, non_blocking=self.waits) if isinstance(value, torch.Tensor) else value

    def take(self, batch: Any) -> Any:
        """Tell the allocator that the consumer's stream uses the batch, so that it is not reused too early."""
        if self._stream is not None:
            stream = torch.cuda.current_stream(self._device)
            mapped(batch, lambda _, value: each(value, partial(_note_use, stream)))
        return batch


def _note_use(stream: torch.cuda.Stream, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        value.record_stream(stream)
