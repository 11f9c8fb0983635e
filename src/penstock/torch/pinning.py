"""Page-locked memory, from which a GPU copies by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from penstock.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["check_pinning", "pinned"]


def check_pinning() -> None:
    """See that there is something to lock pages for."""
    if not torch.cuda.is_available():
        raise UsageError("page-locked memory needs a GPU", got="pin_memory=True", hint="leave pin_memory out")


def pinned(size_bytes: int) -> NDArray[np.uint8]:
    """Allocate page-locked memory; the array keeps the tensor whose memory it is."""
    block: NDArray[np.uint8] = torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True).numpy()
    return block
