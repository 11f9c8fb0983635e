"""Folders for tests of packing: made from a few bytes, compared as a whole."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from tests import images

if TYPE_CHECKING:
    from pathlib import Path


@lru_cache
def jpeg(seed: int = 0, width: int = 40, height: int = 24) -> bytes:
    """A small JPEG, another for every seed."""
    return images.jpeg(images.photo(width, height, seed=seed))


@lru_cache
def png(seed: int = 0, width: int = 40, height: int = 24) -> bytes:
    """A small PNG."""
    return images.png(images.photo(width, height, seed=seed))


def write(root: Path, files: dict[str, bytes]) -> Path:
    """Write files by name; bytes that are not UTF-8 as lone surrogates."""
    for name, data in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    return root


def content(root: Path) -> dict[str, bytes]:
    """All files below a folder, by name."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = file.read()
    return found


def classes(root: Path, count: int = 12, per_class: int = 4) -> Path:
    """A folder per class of small JPEGs; 12 of them make about 30 KB."""
    return write(root, {f"c{i // per_class}/{i:03d}.JPEG": jpeg(i) for i in range(count)})
