"""A case: the work that every peer of a race does, as one value that travels to the children as JSON.

The work is fixed here and nowhere else: RandomResizedCrop(size) and a random horizontal flip of every image of an image
folder, in random order, each exactly once per epoch, delivered as uint8 batches with the samples' ids. The id of a
sample is its position in the folder's listing: classes in order of name, files in order of name within a class, as
torchvision's ImageFolder has it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench.cache_state import STATES
from penstock.errors import UsageError

__all__ = ["SUFFIXES", "Case"]

SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")  # ImageFolder's own list


@dataclass(frozen=True, slots=True)
class Case:
    """What is loaded, into what, by how many workers, how often, and in which state the data are found."""

    data: str  # an image folder, one subfolder per class
    forms: str  # where peers keep what they make of it: packed sets, .beton files
    size: int = 224  # the side of a delivered image
    batch_size: int = 64
    workers: int = 2  # worker processes or threads, and as many CPUs
    epochs: int = 2  # measured, after the first
    warmup_epochs: int = 1  # delivered and checked, but not counted
    seed: int = 0
    batches: int = 0  # measure so many batches after the first one, and no whole epochs
    think_seconds: float = 0.0  # what the consumer does with every batch: nothing, for so long
    model: str = ""  # … or a training step of this model, on `device`
    device: str = "cpu"
    capacity: bool = False  # find the fastest consumer that is still kept busy
    cache: str = "warm"  # the state of the page cache, one of `cache_state.STATES`
    memory_bytes: int = 0  # of the control group, where `cache` is "limited"

    def __post_init__(self) -> None:
        for name, least in (("size", 1), ("batch_size", 1), ("workers", 1), ("epochs", 1), ("batches", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"case: {name}", got=getattr(self, name), expected=f"at least {least}")
        if self.warmup_epochs < 1 and not self.is_cold:
            raise UsageError("case: warmup_epochs", got=self.warmup_epochs, expected="at least 1")
        if self.think_seconds < 0:
            raise UsageError("case: think_seconds", got=self.think_seconds, expected="at least 0")
        if self.cache not in STATES:
            raise UsageError("case: cache", got=self.cache, expected=f"one of {', '.join(STATES)}")
        if (self.cache == "limited") != (self.memory_bytes > 0):
            expected = "a size when the cache is 'limited', and only then"
            raise UsageError("case: memory_bytes", got=f"{self.memory_bytes} with {self.cache!r}", expected=expected)

    @property
    def is_cold(self) -> bool:
        """Whether the first epoch is the one that counts: the next ones would find the data in the cache."""
        return self.cache in {"cold", "dropped", "disk"}

    @classmethod
    def of(cls, data: str, *, forms: str | None = None, **settings: Any) -> Case:
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

    def digest(self) -> str:
        """Digest what is to be loaded: names, sizes and classes, in the order of the ids."""
        found, root = hashlib.sha256(), self.data.rstrip("/") + "/"
        for path, label in self.files():
            found.update(
                f"{path.removeprefix(root)}\0{os.stat(path).st_size}\0{label}\n".encode("utf-8", "surrogateescape")  # noqa: PTH116
            )
        return found.hexdigest()[:16]
