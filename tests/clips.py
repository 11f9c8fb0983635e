"""Clips for tests: folders of small JPEG frames with a list, as 20BN lays them out, and packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests import folders, images

if TYPE_CHECKING:
    from pathlib import Path

LABELS = ("Swiping Left", "Stop Sign", "No gesture")


def frame(clip: int, number: int, width: int = 56, height: int = 40) -> bytes:
    """One frame, another for every clip and number."""
    return images.jpeg(images.photo(width, height, seed=1000 * clip + number))


def frame_count(clip: int) -> int:
    """How many frames a clip has: 3 to 7."""
    return 3 + clip % 5


def frame_folders(root: Path, count: int = 6) -> Path:
    """A list and its clips; gives the list."""
    files = {
        f"frames/{100 + clip}/{number + 1:05d}.jpg": frame(clip, number)
        for clip in range(count)
        for number in range(frame_count(clip))
    }
    lines = [f"{100 + clip};{LABELS[clip % len(LABELS)]}" for clip in range(count)]
    folders.write(root, files | {"train.csv": "\n".join(lines).encode(), "labels.csv": "\n".join(LABELS).encode()})
    return root / "train.csv"
