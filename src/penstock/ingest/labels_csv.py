"""Labels from a CSV file beside a folder of images, however deep.

The file has a header. One column says which image a row is about: the one named file, filename, image, path or name,
else the first. It holds paths relative to the folder, with or without the suffix, with or without `./` before them. All
other columns are labels, with the types that their values show. A text column named `label` becomes classes, sorted and
numbered; a column of numbers stays as it is.

Rows and images must match one to one: an image without a row is unlabelled; a row without an image, or a second row
for one, is an error of the CSV file and not of an image, so it always stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.errors import SourceError
from penstock.ingest.label_table import read_csv, with_classes
from penstock.ingest.listing import Listing, files_of, nothing_found
from penstock.ingest.source import UNLABELLED, Skipped, Source, shown
from penstock.shard.keys import split_name, unique_keys

if TYPE_CHECKING:
    from penstock.ingest.listing import Found

__all__ = ["from_labels_csv"]

_FILE_COLUMNS = ("file", "filename", "image", "path", "name")


def from_labels_csv(listing: Listing, path: str) -> Source:
    """Join the images of a folder with the rows of a CSV file."""
    if not listing.files:
        raise nothing_found(listing)
    table, which = read_csv(path, _FILE_COLUMNS)
    if table.num_columns < 2:
        hint = "the first line is the header, values are separated by commas"
        expected = "a file column and labels"
        raise SourceError("the labels have one column", file=shown(path), expected=expected, hint=hint)
    if not len(table):
        raise SourceError("the labels name no image", file=shown(path), got="a header alone", expected="rows below it")
    named = [name.removeprefix("./") for name in table.column(which).to_pylist()]
    rows = _match(named, listing, path)
    found = [file for file, row in zip(listing.files, rows, strict=True) if row is not None]
    lacking = [file for file, row in zip(listing.files, rows, strict=True) if row is None]
    unlabelled = [Skipped(shown(file.name), UNLABELLED, f"no row in {shown(path)}") for file in lacking]
    labels = table.drop_columns([which]).take(pa.array([row for row in rows if row is not None], pa.int64()))
    labels, classes = with_classes(labels.combine_chunks(), path)
    keys, suffixes = unique_keys([file.name for file in found])
    fields = {"image": files_of(listing.root, found, suffixes)}
    return Source("image-folder", fields, keys, labels, classes, (*listing.skipped, *unlabelled))


def _match(named: list[str], listing: Listing, path: str) -> list[int | None]:
    """Find for each listed image the row that names it."""
    row_of: dict[str, int] = {}
    for line, name in enumerate(named):
        other = row_of.setdefault(name, line)
        if other != line:
            raise SourceError(
                "two rows for one image", file=shown(path), sample=name, got=f"lines {other + 2} and {line + 2}"
            )
    stems: dict[str, list[Found]] = {}
    for file in listing.files:
        stems.setdefault(split_name(file.name)[0], []).append(file)
    used: set[int] = set()
    rows: list[int | None] = []
    for file in listing.files:
        exact = row_of.get(file.name)
        row = row_of.get(shown(file.name)) if exact is None else exact
        stem = split_name(file.name)[0]
        if row is None and len(stems[stem]) == 1:  # a bare stem that two files share names neither
            row = row_of.get(stem)
        rows.append(row)
        if row is not None and row in used:
            raise SourceError("two rows for one image", file=shown(path), sample=shown(file.name))
        used |= {row} if row is not None else set()
    missing = [row for row in range(len(named)) if row not in used]
    if missing:
        what = f"{len(missing)} rows name no image in {shown(listing.root)}"
        raise SourceError(what, file=shown(path), got=f"line {missing[0] + 2}: {named[missing[0]]}")
    return rows
