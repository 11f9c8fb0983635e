"""Lists a folder: every file below it with its size and time, in torchvision's order, and what could not be listed.

torchvision's order is part of the interface: sample i of an image folder opened in place is sample i of
`torchvision.datasets.ImageFolder`, where both take the same files for images. It sorts classes, then the folders of a
class by their whole path, then files by name.

They differ about two kinds of files. Suffixes: torchvision also takes `.ppm` and `.pgm`, and takes neither `.gif` nor
`.jpe` nor `.jfif`. Hidden files and folders (a leading dot): torchvision takes them, here they are reported as no
images, since `.ipynb_checkpoints` is not a class and `._1.jpg` not a photograph.

Symbolic links are followed; a link to a folder that contains it is reported instead of walked for ever.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import UsageError
from penstock.ingest.items import Files
from penstock.ingest.source import NOT_AN_IMAGE, UNREADABLE, Skipped, shown
from penstock.storage.local import storage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["IMAGE_SUFFIXES", "Found", "Listing", "files_of", "list_folder", "nothing_found", "place_in_order"]

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif"})


@dataclass(frozen=True, slots=True)
class Found:
    """One file that looks like an image by its name."""

    name: str  # relative to the root
    size: int
    mtime_ns: int


@dataclass(slots=True)
class Listing:
    """A folder, listed."""

    root: str
    others: str = NOT_AN_IMAGE  # what is said of files that are none of those looked for
    folders: list[str] = field(default_factory=list)  # directly below the root, sorted
    files: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def list_folder(
    root: str, suffixes: Sequence[str] = tuple(sorted(IMAGE_SUFFIXES)), others: str = NOT_AN_IMAGE
) -> Listing:
    """List all images below a folder: the files whose names end in one of the suffixes, in letters of any case.

    `others` is what is said of all other files.
    """
    try:
        status = os.stat(root)
    except OSError as error:
        raise storage_error(error, root) from error
    if not stat.S_ISDIR(status.st_mode):
        raise UsageError("not a folder", file=shown(root), expected="a folder of images")
    listing = Listing(root, others)
    found: dict[str, list[Found]] = {}
    _walk(listing, "", ((status.st_dev, status.st_ino),), found, tuple(suffixes))
    for folder in sorted(found, key=lambda folder: place_in_order(f"{folder}/")):
        listing.files += sorted(found[folder], key=lambda file: file.name)
    listing.folders.sort()
    return listing


def place_in_order(name: str) -> tuple[str, str, str]:
    """Give what names sort by: the class's folder, the whole folder, the name.

    A whole path alone will not do: "-" sorts before "/", so "cat-big" would come between "cat" and "cat/long".
    """
    folder, _, base = name.rpartition("/")
    return folder.partition("/")[0], folder, base


def _walk(
    listing: Listing,
    folder: str,
    above: tuple[tuple[int, int], ...],
    found: dict[str, list[Found]],
    suffixes: tuple[str, ...],
) -> None:
    inside = found.setdefault(folder, [])
    try:
        with os.scandir(os.path.join(listing.root, folder)) as scan:
            entries = list(scan)
    except OSError as error:
        listing.skipped.append(
            Skipped(shown(folder) or ".", UNREADABLE, f"the folder cannot be listed: {error.strerror}")
        )
        return
    for entry in entries:
        name = f"{folder}/{entry.name}" if folder else entry.name
        if entry.name.startswith("."):
            listing.skipped.append(Skipped(shown(name), listing.others, "hidden", is_expected=True))
            continue
        try:
            status = entry.stat()
        except OSError as error:
            listing.skipped.append(Skipped(shown(name), UNREADABLE, error.strerror or str(error)))
            continue
        if stat.S_ISDIR(status.st_mode):
            itself = (status.st_dev, status.st_ino)
            if itself in above:
                listing.skipped.append(Skipped(shown(name), UNREADABLE, "a link to a folder that contains it"))
                continue
            if not folder:
                listing.folders.append(name)
            _walk(listing, name, (*above, itself), found, suffixes)
        elif not stat.S_ISREG(status.st_mode):
            listing.skipped.append(Skipped(shown(name), listing.others, "neither a file nor a folder"))
        elif not entry.name.lower().endswith(suffixes):
            listing.skipped.append(Skipped(shown(name), listing.others, "by the suffix of its name", is_expected=True))
        else:
            inside.append(Found(name, status.st_size, status.st_mtime_ns))


def files_of(root: str, found: Sequence[Found], suffixes: list[str]) -> Files:
    """Give listed files as parallel arrays."""
    return Files(
        root=root,
        names=[file.name for file in found],
        sizes=np.fromiter((file.size for file in found), np.int64, len(found)),
        mtimes_ns=np.fromiter((file.mtime_ns for file in found), np.int64, len(found)),
        suffixes=suffixes,
    )


def nothing_found(listing: Listing) -> UsageError:
    """Say that a folder has no images, with an example of what it has."""
    example = (
        f"{len(listing.skipped)} others, for example {listing.skipped[0]}" if listing.skipped else "nothing at all"
    )
    expected = "images (jpg, png, webp, bmp, tiff, gif), in one folder per class"
    return UsageError("no images here", file=shown(listing.root), got=example, expected=expected)
