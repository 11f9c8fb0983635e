"""A folder of images as a source: one folder per class, or a flat folder without labels.

Class folders are numbered in sorted order, empty ones included, so a label's number depends on the folders' names
alone. An image beside the class folders belongs to no class: it is reported, never dropped unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.errors import UsageError
from penstock.ingest.listing import Listing, files_of
from penstock.ingest.source import UNLABELLED, Skipped, Source, shown
from penstock.shard.keys import unique_keys

if TYPE_CHECKING:
    from penstock.ingest.listing import Found

__all__ = ["from_image_folder", "nothing_found"]


def from_image_folder(listing: Listing) -> Source:
    """Read classes off the folders."""
    if not listing.folders:
        return _flat(listing)
    classes = tuple(
        name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") for name in listing.folders
    )
    number = {folder: position for position, folder in enumerate(listing.folders)}
    inside: list[Found] = []
    labels: list[int] = []
    skipped = list(listing.skipped)
    for file in listing.files:
        folder, slash, _ = file.name.partition("/")
        if slash:
            inside.append(file)
            labels.append(number[folder])
        else:
            skipped.append(Skipped(shown(file.name), UNLABELLED, "lies beside the class folders, so it has no class"))
    if not inside:
        raise nothing_found(listing)
    keys, suffixes = unique_keys([file.name for file in inside])
    return Source(
        kind="image_folder",
        fields={"image": files_of(listing.root, inside, suffixes)},
        keys=keys,
        labels=pa.table({"label": pa.array(labels, pa.int64())}),
        classes=classes,
        skipped=tuple(skipped),
    )


def _flat(listing: Listing) -> Source:
    if not listing.files:
        raise nothing_found(listing)
    keys, suffixes = unique_keys([file.name for file in listing.files])
    fields = {"image": files_of(listing.root, listing.files, suffixes)}
    return Source("flat_folder", fields, keys, pa.table({}), None, tuple(listing.skipped))


def nothing_found(listing: Listing) -> UsageError:
    """Say that a folder has no images, with an example of what it has."""
    example = (
        f"{len(listing.skipped)} others, for example {listing.skipped[0]}" if listing.skipped else "nothing at all"
    )
    expected = "images (jpg, png, webp, bmp, tiff, gif), in one folder per class"
    return UsageError("no images here", file=shown(listing.root), got=example, expected=expected)
