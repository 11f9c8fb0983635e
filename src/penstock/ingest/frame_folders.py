"""Folders of JPEG frames, looked up by name: one folder is one clip, its frames in the order of their names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from penstock.ingest.items import Files, FrameFiles
from penstock.ingest.source import UNREADABLE, Skipped, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["frame_folders", "frames_in"]

_SUFFIXES = (".jpg", ".jpeg")


def frame_folders(root: str, names: Sequence[str]) -> tuple[FrameFiles, list[int], list[Skipped]]:
    """Look folders up below a root: those that are there, their positions among the names, and those that are not."""
    files, first, kept, skipped = list[tuple[str, int, int]](), [0], list[int](), list[Skipped]()
    for position, name in enumerate(names):
        frames = frames_in(root, name)
        if isinstance(frames, Skipped):
            skipped.append(frames)
            continue
        files += frames
        first.append(len(files))
        kept.append(position)
    of_frames = Files(
        root,
        [name for name, _, _ in files],
        np.array([size for _, size, _ in files], np.int64),
        np.array([time for _, _, time in files], np.int64),
        [""] * len(files),
    )
    return FrameFiles(of_frames, np.array(first, np.int64), [names[position] for position in kept]), kept, skipped


def frames_in(root: str, name: str) -> list[tuple[str, int, int]] | Skipped:
    """List the frames of a clip: name, size, time."""
    try:
        with os.scandir(os.path.join(root, name)) as entries:
            found = sorted(
                (entry.name, entry.stat().st_size, entry.stat().st_mtime_ns)
                for entry in entries
                if entry.name.lower().endswith(_SUFFIXES) and not entry.name.startswith(".")
            )
    except OSError as error:
        return Skipped(shown(name), UNREADABLE, error.strerror or str(error))
    if not found:
        return Skipped(shown(name), UNREADABLE, "the folder has no JPEG frames")
    return [(f"{name}/{frame}", size, time) for frame, size, time in found]
