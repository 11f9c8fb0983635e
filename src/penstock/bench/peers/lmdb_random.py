"""LMDB as Efficient-PyTorch has it: one file, keys that are decimal numbers, values read in random order.

The value is (encoded bytes, label), pickled (the serialisation of pyarrow that it once used exists no more); `__len__`
and `__keys__` are there, too. Each worker opens the environment for itself: one must not be carried across a fork.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.peers import torch_images

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "LMDB, random reads (Efficient-PyTorch)"
SETTINGS = "pickled (JPEG, label) in one file, readahead off; Pillow, torchvision v2 on tensors, worker processes"
DISTRIBUTIONS = ("lmdb", *torch_images.DISTRIBUTIONS)
MODULES = ("lmdb", *torch_images.MODULES)
MAP_BYTES = 1.2  # of the files' size, and some: LMDB wants to know beforehand
COMMIT_EVERY = 5000


def write(case: Case, path: Path, key_of: Any, *, has_length: bool) -> None:
    """Write a database of (encoded bytes, id), in the order of the listing."""
    import lmdb

    files = case.files()
    size = sum(Path(name).stat().st_size + 8192 for name, _ in files)
    keys = [key_of(number) for number in range(len(files))]
    with lmdb.open(str(path), subdir=False, map_size=int(MAP_BYTES * size) + 2**26, meminit=False, lock=False) as db:
        for start in range(0, len(files), COMMIT_EVERY):
            with db.begin(write=True) as transaction:
                for number, (name, _) in list(enumerate(files))[start : start + COMMIT_EVERY]:
                    transaction.put(keys[number], pickle.dumps((Path(name).read_bytes(), number)))
        with db.begin(write=True) as transaction:
            transaction.put(b"__keys__", pickle.dumps(keys))
            if has_length:
                transaction.put(b"__len__", pickle.dumps(len(keys)))
        db.sync()


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Write the database."""
    return torch_images.made(
        case.form("lmdb"), lambda part: write(case, part, lambda number: b"%d" % number, has_length=True)
    )


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    import lmdb
    from torch.utils.data import Dataset

    decode, path, count = torch_images.decoder(case), str(case.form("lmdb")), len(case.files())

    class Images(Dataset[Any]):
        """Opens the database where it is read."""

        def __init__(self) -> None:
            self.db: Any = None

        def __len__(self) -> int:
            return count

        def __getitem__(self, number: int) -> Any:
            if self.db is None:
                self.db = lmdb.open(path, subdir=False, readonly=True, lock=False, readahead=False, meminit=False)
            with self.db.begin() as transaction:
                data, sample = pickle.loads(transaction.get(b"%d" % number))  # noqa: S301 written above
            return decode(data), sample

    return torch_images.forever(torch_images.loader(Images(), case, shuffle=True))
