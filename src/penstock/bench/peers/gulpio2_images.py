"""GulpIO2 on images: each a clip of one frame, in chunks of concatenated JPEGs beside a JSON index.

Its writer decodes every image and encodes it again; its reader opens the chunk for every item and decodes with
libjpeg-turbo. What comes out is cropped as with the other peers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.bench.peers import torch_images

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "GulpIO2"
SETTINGS = "chunks of 1,000, frames encoded again; GulpDirectory under a DataLoader, torchvision v2 on tensors"
DISTRIBUTIONS = ("gulpio2", "opencv-python-headless", "simplejpeg", *torch_images.DISTRIBUTIONS)
MODULES = ("gulpio2.fileio", "torch", "torchvision", "torchvision.transforms.v2")
PER_CHUNK = 1000


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Gulp the images."""

    def write(part: Path) -> None:
        from gulpio2.fileio import ChunkWriter, GulpDirectory
        from PIL import Image

        files = case.files()

        class Images:
            """What the chunk writer asks for."""

            def __len__(self) -> int:
                return len(files)

            def iter_data(self, taken: slice) -> Iterator[dict[str, Any]]:
                """Give one-frame clips."""
                import numpy as np

                for number, (path, label) in list(enumerate(files))[taken]:
                    with Image.open(path) as file:
                        frame = np.asarray(file.convert("RGB"))
                    yield {"id": str(number), "meta": {"label": label}, "frames": [frame]}

        part.mkdir()
        starts = range(0, len(files), PER_CHUNK)
        chunks = GulpDirectory(str(part)).new_chunks(len(starts))
        for start, chunk in zip(starts, chunks, strict=True):
            ChunkWriter(Images()).write_chunk(chunk, slice(start, min(start + PER_CHUNK, len(files))))

    return torch_images.made(case.form("gulp"), write)


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    import torch
    from gulpio2.fileio import GulpDirectory
    from torch.utils.data import Dataset
    from torchvision.transforms import v2

    directory, count = GulpDirectory(str(case.form("gulp"))), len(case.files())
    geometry = v2.Compose([v2.RandomResizedCrop(case.size, antialias=True), v2.RandomHorizontalFlip()])

    class Images(Dataset[Any]):
        """Reads one-frame clips."""

        def __len__(self) -> int:
            return count

        def __getitem__(self, number: int) -> Any:
            frames, _ = directory[str(number)]
            return geometry(torch.from_numpy(frames[0]).permute(2, 0, 1)), number

    return torch_images.forever(torch_images.loader(Images(), case, shuffle=True))
