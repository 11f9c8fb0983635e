"""Foreign data on its way in: what a source holds, and what its files become when they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.ingest.image_folder import from_image_folder
from penstock.ingest.labels_csv import from_labels_csv
from penstock.ingest.listing import list_folder
from penstock.ingest.masks import with_masks

if TYPE_CHECKING:
    from penstock.ingest.source import Source

__all__ = ["open_source"]


def open_source(path: str, *, labels: str | None = None, masks: str | None = None) -> Source:
    """List a folder of images as a source: labels from a CSV file, else from the folders' names; masks beside it."""
    listing = list_folder(path)
    source = from_image_folder(listing) if labels is None else from_labels_csv(listing, labels)
    return source if masks is None else with_masks(source, list_folder(masks))
