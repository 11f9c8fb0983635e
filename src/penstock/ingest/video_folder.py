"""A folder of videos as a source: one folder per class, or a flat folder without labels. Classes as those of images."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.ingest.image_folder import from_image_folder
from penstock.ingest.items import Files
from penstock.ingest.kind import Kind
from penstock.ingest.listing import IMAGE_SUFFIXES, list_folder
from penstock.ingest.source import NOT_A_VIDEO, Source, shown
from penstock.ingest.videos import VIDEO_SUFFIXES, is_video, videos

if TYPE_CHECKING:
    from penstock.ingest.kind import Options

__all__ = ["VIDEO_FOLDER"]


def _listed(path: str, options: Options) -> Source:
    """List a folder as if its videos were images."""
    listing = list_folder(path, VIDEO_SUFFIXES, NOT_A_VIDEO)
    if not listing.files:
        got = f"{len(listing.skipped)} other files" if listing.skipped else "nothing at all"
        expected = f"videos ({', '.join(VIDEO_SUFFIXES)}), in one folder per class"
        raise UsageError("no videos here", file=shown(path), got=got, expected=expected)
    source = from_image_folder(listing)
    files = source.fields["image"]
    assert isinstance(files, Files)
    return replace(source, kind="video-folder", fields={"clip": videos(files, options)}, made=frozenset({"clip"}))


def _detects(path: str) -> bool:
    """Whether this is a folder that has a video somewhere below it, and no image."""
    return os.path.isdir(path) and _holds(path) == {"video"}


def _holds(folder: str, above: tuple[tuple[int, int], ...] = ()) -> set[str]:
    """Say whether there are videos and images below a folder; it stops at the first image.

    A link to a folder is followed, unless that is one of those `above`.
    """
    found, folders = set[str](), list[str]()
    try:
        status = os.stat(folder)
        itself = (status.st_dev, status.st_ino)
        if itself in above:
            return set()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if os.path.splitext(entry.name)[1].lower() in IMAGE_SUFFIXES:
                    return {"image"}
                if is_video(entry.name):
                    found.add("video")
                elif entry.is_dir():
                    folders.append(entry.path)
    except OSError:
        return set()
    for inside in folders:
        found |= _holds(inside, (*above, itself))
        if "image" in found:
            break
    return found


VIDEO_FOLDER = Kind(
    name="video-folder",
    what="a folder of videos (mp4, webm, avi, mov, mkv), one folder per class",
    detects=_detects,
    listed=_listed,
    options=frozenset({"frame_rate"}),
)
