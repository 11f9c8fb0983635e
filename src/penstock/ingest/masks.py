"""Adds a second field to a source: masks in a folder of their own, laid out as the images are.

The mask of `cats/1.jpg` is the image file `cats/1.*` of the masks' folder. An image without a mask cannot be a sample
(its fields would differ from the others'), and a mask without an image is reported like any other file that is none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.errors import SourceError, UsageError
from penstock.ingest.items import Files
from penstock.ingest.listing import Found, Listing, files_of
from penstock.ingest.source import NOT_AN_IMAGE, UNLABELLED, Skipped, Source, shown
from penstock.shard.keys import split_name

__all__ = ["with_masks"]


def with_masks(source: Source, listing: Listing) -> Source:
    """Join a source's images with the masks of a folder, by path without suffix."""
    by_stem: dict[str, Found] = {}
    for file in listing.files:
        other = by_stem.setdefault(split_name(file.name)[0], file)
        if other is not file:
            what = "two masks for one image"
            raise SourceError(what, file=shown(listing.root), got=f"{shown(other.name)} and {shown(file.name)}")
    images = source.fields.get("image")
    if not isinstance(images, Files):
        raise UsageError("masks go with a folder of images", file=shown(listing.root), got=f"a source of {source.kind}")
    found = [by_stem.pop(split_name(name)[0], None) for name in images.names]
    keep = [position for position, mask in enumerate(found) if mask is not None]
    lacking = [
        Skipped(shown(images.names[i]), UNLABELLED, "has no mask") for i, mask in enumerate(found) if mask is None
    ]
    unused = [Skipped(shown(mask.name), NOT_AN_IMAGE, "a mask without an image") for mask in by_stem.values()]
    masks = [mask for mask in found if mask is not None]
    rows = np.array(keep, np.int64)
    chosen = replace(
        images,
        names=[images.names[i] for i in keep],
        sizes=images.sizes[rows],
        mtimes_ns=images.mtimes_ns[rows],
        suffixes=[images.suffixes[i] for i in keep],
    )
    return replace(
        source,
        fields={"image": chosen, "mask": files_of(listing.root, masks, [split_name(mask.name)[1] for mask in masks])},
        keys=[source.keys[i] for i in keep],
        labels=source.labels.take(rows),
        skipped=(*source.skipped, *listing.skipped, *lacking, *unused),
    )
