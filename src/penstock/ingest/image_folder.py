"""A folder of images as a source: one folder per class, or a flat folder without labels.

Class folders are numbered in sorted order, empty ones included, so a label's number depends on the folders' names
alone. An image beside the class folders belongs to no class: it is reported, never dropped unseen.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.ingest.kind import Kind
from penstock.ingest.labels_csv import from_labels_csv
from penstock.ingest.listing import Listing, files_of, list_folder, nothing_found
from penstock.ingest.masks import with_masks
from penstock.ingest.source import UNLABELLED, Skipped, Source, shown
from penstock.shard.keys import unique_keys

if TYPE_CHECKING:
    from penstock.ingest.kind import Options
    from penstock.ingest.listing import Found

__all__ = ["IMAGE_FOLDER", "from_image_folder"]


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
        kind="image-folder",
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
    return Source("image-folder", fields, keys, pa.table({}), None, tuple(listing.skipped))


def _listed(path: str, options: Options) -> Source:
    """List a folder: labels from a file of them, else from the folders' names; masks beside it."""
    listing = list_folder(path)
    source = from_image_folder(listing) if options.labels is None else from_labels_csv(listing, options.labels)
    return source if options.masks is None else with_masks(source, list_folder(options.masks))


IMAGE_FOLDER = Kind(
    name="image-folder",
    what="a folder of images, one folder per class, or any with a CSV file of labels",
    detects=os.path.isdir,
    listed=_listed,
    options=frozenset({"labels", "masks"}),
    is_of_files=True,
)
