"""LMDB read from one end to the other and shuffled locally, as sequential-imagenet-dataloader has it.

Keys are padded numbers, so that their order is the order on disk; a cursor walks over them with readahead, and a buffer
of samples is shuffled, 50,000 of ImageNet's 1.28 million. Here the buffer holds the same share of the data. Each worker
walks over a part of its own, so that every sample comes once per epoch; the parts begin at another place each epoch.
"""

from __future__ import annotations

import pickle
import random
from typing import TYPE_CHECKING, Any

from penstock.bench.peers import lmdb_random, torch_images

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "LMDB, sequential reads, local shuffle"
SETTINGS = "a cursor per worker over its part, readahead on, buffer of 4 % (at least 64); Pillow, torchvision v2"
DISTRIBUTIONS = lmdb_random.DISTRIBUTIONS
MODULES = lmdb_random.MODULES
BUFFER_SHARE = 50_000 / 1_281_167
LEAST_BUFFER = 64


def key_of(number: int) -> bytes:
    """Name a sample so that names sort as numbers do."""
    return b"%08d" % number


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Write the database."""
    return torch_images.made(
        case.form("sequential.lmdb"), lambda part: lmdb_random.write(case, part, key_of, has_length=False)
    )


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    import lmdb
    from torch.utils.data import IterableDataset, get_worker_info

    decode, path, count = torch_images.decoder(case), str(case.form("sequential.lmdb")), len(case.files())
    room = max(LEAST_BUFFER, int(BUFFER_SHARE * count))

    class Images(IterableDataset[Any]):
        """Walks over a part of the database."""

        def __init__(self) -> None:
            self.epoch = 0  # counted in each worker: workers live on, and their seed with them

        def __iter__(self) -> Iterator[Any]:
            told = get_worker_info()
            part, parts, seed = (told.id, told.num_workers, told.seed) if told else (0, 1, case.seed)
            draws = random.Random(f"{seed} {self.epoch}")  # noqa: S311 an order, no secret
            self.epoch += 1
            first, last = part * count // parts, (part + 1) * count // parts
            turn = draws.randrange(first, last) if last > first else first
            db = lmdb.open(path, subdir=False, readonly=True, lock=False, readahead=True, meminit=False)
            buffer: list[Any] = []
            with db.begin(buffers=False) as transaction:
                for start, stop in ((turn, last), (first, turn)):
                    cursor = transaction.cursor()
                    if start < stop:
                        cursor.set_key(key_of(start))
                    for _, value in zip(range(start, stop), cursor.iternext(keys=False), strict=False):
                        buffer.append(value)
                        if len(buffer) > room:
                            yield self._made(_taken(buffer, draws))
            while buffer:
                yield self._made(_taken(buffer, draws))

        def _made(self, value: bytes) -> Any:
            data, sample = pickle.loads(value)  # noqa: S301 written by the peer itself
            return decode(data), sample

    return torch_images.forever(torch_images.loader(Images(), case))


def _taken(buffer: list[Any], draws: random.Random) -> Any:
    """Take one at random out of the buffer."""
    place = draws.randrange(len(buffer))
    buffer[place], buffer[-1] = buffer[-1], buffer[place]
    return buffer.pop()
