"""A case: the work that every peer of a race does, as one value that travels to the children as JSON.

The work is fixed here and nowhere else: RandomResizedCrop(size) and a random horizontal flip of every image of an image
folder, in random order, each exactly once per epoch, delivered as uint8 batches with the samples' ids. The id of a
sample is its position in the folder's listing: classes in order of name, files in order of name within a class, as
torchvision's ImageFolder has it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import UsageError

__all__ = ["SUFFIXES", "Case"]

SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")  # ImageFolder's own list


@dataclass(frozen=True, slots=True)
class Case:
    """What is loaded, into what, by how many workers, how often."""

    data: str  # an image folder, one subfolder per class
    forms: str  # where peers keep what they make of it: packed sets, .beton files
    size: int = 224  # the side of a delivered image
    batch_size: int = 64
    workers: int = 2  # worker processes or threads, and as many CPUs
    epochs: int = 2  # measured, after the first
    warmup_epochs: int = 1  # delivered and checked, but not counted
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("size", 1), ("batch_size", 1), ("workers", 1), ("epochs", 1), ("warmup_epochs", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"case: {name}", got=getattr(self, name), expected=f"at least {least}")

    @classmethod
    def of(cls, data: str, *, forms: str | None = None, **settings: int) -> Case:
        """Make a case for an image folder; its other forms lie beside it (<folder>.pen, <folder>.beton)."""
        return cls(data=data, forms=forms or str(Path(data).absolute().parent), **settings)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Case:
        """Rebuild the case that `to_json` described."""
        return cls(**value)

    def to_json(self) -> dict[str, Any]:
        """Describe the case as plain values."""
        return dataclasses.asdict(self)

    def form(self, suffix: str) -> Path:
        """Name the place of another form of the data, by its suffix: pen, raw.pen, beton."""
        return Path(self.forms) / f"{Path(self.data).name}.{suffix}"

    def files(self) -> list[tuple[str, int]]:
        """List (path, class position) of every image; a sample's id is its position in this list."""
        root = Path(self.data)
        if not root.is_dir():
            raise UsageError("no such image folder", file=self.data)
        found = []
        for label, folder in enumerate(sorted(entry for entry in root.iterdir() if entry.is_dir())):
            paths = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
            # Sorted as strings, not as Path sorts (part by part), because ImageFolder sorts strings.
            found += [(path, label) for path in sorted(map(str, paths))]
        if not found:
            raise UsageError("no image in the folder's subfolders", file=self.data, hint="one subfolder per class")
        return found
