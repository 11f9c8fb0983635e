"""WebDataset: tar shards, read from one end to the other, shuffled by shard and in a buffer."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.peers import torch_images

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "WebDataset"
SETTINGS = "tar shards, shardshuffle, buffer of 1,000; Pillow, torchvision v2 on tensors, worker processes"
DISTRIBUTIONS = ("webdataset", *torch_images.DISTRIBUTIONS)
MODULES = ("webdataset", *torch_images.MODULES)
SHARD_BYTES = 2**26
LEAST_SHARDS = 16  # each worker needs some of its own
BUFFER = 1000


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Write the shards, of about the same number of samples each."""

    def write(part: Path) -> None:
        files = case.files()
        total = sum(Path(path).stat().st_size for path, _ in files)
        shards = min(len(files), max(LEAST_SHARDS, -(-total // SHARD_BYTES)))
        part.mkdir()
        for shard in range(shards):
            with tarfile.open(part / f"{shard:06d}.tar", "w") as tar:
                for number in range(shard * len(files) // shards, (shard + 1) * len(files) // shards):
                    for suffix, data in (("jpg", Path(files[number][0]).read_bytes()), ("cls", b"%d" % number)):
                        member = tarfile.TarInfo(f"{number:08d}.{suffix}")
                        member.size = len(data)
                        tar.addfile(member, io.BytesIO(data))

    return torch_images.made(case.form("tars"), write)


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    import webdataset

    decode = torch_images.decoder(case)
    shards = sorted(str(path) for path in case.form("tars").iterdir())
    samples = webdataset.WebDataset(shards, shardshuffle=len(shards), detshuffle=True, seed=case.seed)
    samples = samples.shuffle(BUFFER).map(lambda sample: (decode(sample["jpg"]), int(sample["cls"])))
    return torch_images.forever(torch_images.loader(samples.batched(case.batch_size), case, batch_size=None))
