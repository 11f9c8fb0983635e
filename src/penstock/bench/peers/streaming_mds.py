"""Streaming (MosaicML): MDS shards of the original JPEG bytes, in a local folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.peers import torch_images

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "Streaming, MDS"
SETTINGS = "MDS shards of 64 MB on the disk, shuffle=True (its default algorithm); Pillow, torchvision v2 on tensors"
DISTRIBUTIONS = ("mosaicml-streaming", *torch_images.DISTRIBUTIONS)
MODULES = ("streaming", *torch_images.MODULES)


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Write the shards."""

    def write(part: Path) -> None:
        from streaming import MDSWriter

        with MDSWriter(out=str(part), columns={"image": "bytes", "id": "int"}, size_limit="64mb") as out:
            for number, (path, _) in enumerate(case.files()):
                out.write({"image": Path(path).read_bytes(), "id": number})

    return torch_images.made(case.form("mds"), write)


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()  # of the rehearsal, which has the same name for it
    decode = torch_images.decoder(case)

    class Images(StreamingDataset):  # type: ignore[misc]
        """Decodes what it reads."""

        def __getitem__(self, at: int) -> Any:
            sample = super().__getitem__(at)
            return decode(sample["image"]), sample["id"]

    dataset = Images(
        local=str(case.form("mds")),
        shuffle=True,
        shuffle_seed=case.seed,
        batch_size=case.batch_size,
        num_canonical_nodes=1,
    )
    return torch_images.forever(torch_images.loader(dataset, case))
