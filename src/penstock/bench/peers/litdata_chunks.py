"""LitData: chunks of the original JPEG bytes, made by its `optimize`, read through its own loader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.peers import torch_images

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "LitData"
SETTINGS = "optimize to chunks of 64 MB; StreamingDataset(shuffle=True), StreamingDataLoader; Pillow, torchvision v2"
DISTRIBUTIONS = ("litdata", *torch_images.DISTRIBUTIONS)
MODULES = ("litdata", *torch_images.MODULES)


def sample_of(given: tuple[int, str]) -> dict[str, Any]:
    """Read one file; found by name in the processes that `optimize` starts."""
    number, path = given
    return {"image": Path(path).read_bytes(), "id": number}


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Write the chunks."""

    def write(part: Path) -> None:
        from litdata import optimize

        inputs = [(number, path) for number, (path, _) in enumerate(case.files())]
        optimize(sample_of, inputs, str(part), chunk_bytes="64MB", num_workers=case.workers, verbose=False)

    return torch_images.made(case.form("litdata"), write)


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    from litdata import StreamingDataLoader, StreamingDataset

    decode = torch_images.decoder(case)

    class Images(StreamingDataset):  # type: ignore[misc]
        """Decodes what it reads."""

        def __getitem__(self, at: Any) -> Any:
            sample = super().__getitem__(at)
            return decode(sample["image"]), sample["id"]

    dataset = Images(str(case.form("litdata")), shuffle=True, seed=case.seed + 1, drop_last=False)
    loader = StreamingDataLoader(
        dataset, batch_size=case.batch_size, num_workers=case.workers, persistent_workers=True, drop_last=False
    )
    return torch_images.forever(loader)
