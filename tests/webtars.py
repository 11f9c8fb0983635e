"""Tars for tests, written by the real webdataset, or by Python's tarfile where it is about the tar."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any

import webdataset

from tests import folders

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PER_TAR = 4


def sample(at: int, **more: Any) -> dict[str, Any]:
    """One sample: an image and its label."""
    return {"__key__": f"photos/{at:05d}", "jpg": folders.jpeg(at), "cls": at % 3, **more}


def write(path: Path, samples: Iterable[dict[str, Any]]) -> Path:
    """Write a tar by webdataset; bytes are stored as they are."""
    with webdataset.TarWriter(str(path), encoder=True) as writer:
        for one in samples:
            writer.write(one)
    return path


def shards(folder: Path, count: int = 10, **more: Any) -> Path:
    """Several tars, four samples in each; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(0, count, PER_TAR):
        inside = range(first, min(first + PER_TAR, count))
        write(folder / f"x-{first // PER_TAR:06d}.tar", [sample(at, **more) for at in inside])
    return folder


def members(path: Path, files: Iterable[tuple[str | tarfile.TarInfo, bytes]], form: int = tarfile.PAX_FORMAT) -> Path:
    """Write a tar by tarfile."""
    with tarfile.open(path, "w", format=form) as archive:
        for name, data in files:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path
