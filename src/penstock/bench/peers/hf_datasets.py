"""Hugging Face datasets: the original JPEG bytes in an Arrow table that is mapped into memory, under a DataLoader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.peers import torch_images

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "Hugging Face datasets"
SETTINGS = "save_to_disk of encoded bytes; a batch of rows at a time in each worker; Pillow, torchvision v2 on tensors"
DISTRIBUTIONS = ("datasets", "pyarrow", *torch_images.DISTRIBUTIONS)
MODULES = ("datasets", *torch_images.MODULES)


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Write the table."""

    def write(part: Path) -> None:
        import tempfile

        from datasets import Dataset, Features, Value

        files = case.files()

        def rows() -> Iterator[dict[str, Any]]:
            for number, (path, _) in enumerate(files):
                yield {"image": Path(path).read_bytes(), "id": number}

        features = Features({"image": Value("binary"), "id": Value("int64")})
        with tempfile.TemporaryDirectory(dir=part.parent) as cache:
            Dataset.from_generator(rows, features=features, cache_dir=cache).save_to_disk(str(part))

    return torch_images.made(case.form("arrow"), write)


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    from datasets import load_from_disk

    decode = torch_images.decoder(case)

    def transform(rows: dict[str, Any]) -> dict[str, Any]:
        return {"image": [decode(data) for data in rows["image"]], "id": rows["id"]}

    dataset = load_from_disk(str(case.form("arrow"))).with_transform(transform)
    loader = torch_images.loader(dataset, case, shuffle=True)

    class Pairs:
        """Gives a loader's batches as pairs."""

        def __iter__(self) -> Iterator[Any]:
            return ((batch["image"], batch["id"]) for batch in loader)

    return torch_images.forever(Pairs())
