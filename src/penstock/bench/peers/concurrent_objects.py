"""Concurrent fetch over loose objects, after concurrent-dataloader's "threaded" fetcher, with the right samples.

A map-style dataset under a DataLoader whose workers fetch and decode the items of a batch with a pool of threads each,
as one would against a far store. The original took the position in the batch for the number of the sample, and so read
the same few samples again and again; what is measured here is what it meant to do.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.peers import torch_images

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "concurrent fetch, loose files"
SETTINGS = "16 threads in each worker process fetch and decode a batch's items; Pillow, torchvision v2 on tensors"
DISTRIBUTIONS = torch_images.DISTRIBUTIONS
MODULES = torch_images.MODULES
FETCHERS = 16


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Read the folder as it is."""
    del case
    return None, False


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    from torch.utils.data import Dataset

    decode, paths = torch_images.decoder(case), [path for path, _ in case.files()]

    class Objects(Dataset[Any]):
        """Fetches the items of a batch at the same time."""

        def __init__(self) -> None:
            self.pool: ThreadPoolExecutor | None = None  # made in the worker, for threads do not cross a fork

        def __len__(self) -> int:
            return len(paths)

        def __getitem__(self, sample: int) -> Any:
            return decode(Path(paths[sample]).read_bytes()), sample

        def __getitems__(self, samples: list[int]) -> list[Any]:
            """Fetch many: what DataLoader asks for, where a dataset has it."""
            if self.pool is None:
                self.pool = ThreadPoolExecutor(FETCHERS)
            return list(self.pool.map(self.__getitem__, samples))

    return torch_images.forever(torch_images.loader(Objects(), case, shuffle=True))
