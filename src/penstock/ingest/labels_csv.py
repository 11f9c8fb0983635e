"""Labels from a CSV file beside a folder of images, however deep.

The file has a header. One column says which image a row is about: the one named file, filename, image, path or name,
else the first. It holds paths relative to the folder, with or without the suffix, with or without `./` before them. All
other columns are labels, with the types that their values show. A text column named `label` becomes classes, sorted and
numbered; a column of numbers stays as it is.

Rows and images must match one to one: an image without a row is unlabelled; a row without an image, or a second row
for one, is an error of the CSV file and not of an image, so it always stops.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from penstock.errors import SourceError, UsageError
from penstock.ingest.listing import Listing, files_of, nothing_found
from penstock.ingest.source import UNLABELLED, Skipped, Source, shown
from penstock.shard.keys import split_name, unique_keys
from penstock.storage.local import storage_error

if TYPE_CHECKING:
    from penstock.ingest.listing import Found

__all__ = ["from_labels_csv"]

_FILE_COLUMNS = ("file", "filename", "image", "path", "name")


def from_labels_csv(listing: Listing, path: str) -> Source:
    """Join the images of a folder with the rows of a CSV file."""
    if not listing.files:
        raise nothing_found(listing)
    table, which = _read(path)
    if not len(table):
        raise SourceError("the labels name no image", file=shown(path), got="a header alone", expected="rows below it")
    named = [name.removeprefix("./") for name in table.column(which).to_pylist()]
    rows = _match(named, listing, path)
    found = [file for file, row in zip(listing.files, rows, strict=True) if row is not None]
    lacking = [file for file, row in zip(listing.files, rows, strict=True) if row is None]
    unlabelled = [Skipped(shown(file.name), UNLABELLED, f"no row in {shown(path)}") for file in lacking]
    labels = table.drop_columns([which]).take(pa.array([row for row in rows if row is not None], pa.int64()))
    labels, classes = _with_classes(labels.combine_chunks(), path)
    keys, suffixes = unique_keys([file.name for file in found])
    fields = {"image": files_of(listing.root, found, suffixes)}
    return Source("labels_csv", fields, keys, labels, classes, (*listing.skipped, *unlabelled))


def _read(path: str) -> tuple[pa.Table, str]:
    """Read the table, and find the column that names the images: text, however much it looks like numbers."""
    # Only an empty value is missing: pyarrow's list of such words would turn a class "NA" into none.
    rules = {"null_values": [""], "strings_can_be_null": True}
    try:
        with pyarrow.csv.open_csv(path) as reader:
            names = reader.schema.names
        doubled = sorted(name for name, count in Counter(names).items() if count > 1)
        if doubled:
            raise SourceError("two columns have one name", file=shown(path), got=repr(doubled[0]))
        which = next((name for name in _FILE_COLUMNS if name in names), names[0])
        options = pyarrow.csv.ConvertOptions(column_types={which: pa.string()}, **rules)
        table = pyarrow.csv.read_csv(path, convert_options=options)
    except OSError as error:
        raise storage_error(error, path) from error
    except pa.ArrowInvalid as error:
        raise SourceError(
            f"the labels cannot be read: {error}", file=shown(path), expected="CSV with a header"
        ) from error
    if table.num_columns < 2:
        hint = "the first line is the header, values are separated by commas"
        raise SourceError(
            "the labels have one column", file=shown(path), expected="a file column and labels", hint=hint
        )
    if table.column(which).null_count:
        raise SourceError(f"{table.column(which).null_count} rows name no image", file=shown(path))
    return table, which


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


def _with_classes(labels: pa.Table, path: str) -> tuple[pa.Table, tuple[str, ...] | None]:
    """Give numbers for the values of a text column named `label`; refuse numbers that are missing."""
    for name in labels.column_names:
        column = labels.column(name)
        if column.null_count and (name == "label" or not pa.types.is_string(column.type)):
            raise SourceError(
                f"{column.null_count} rows have no {name}", file=shown(path), expected="a value in every row"
            )
    if "label" not in labels.column_names:
        return labels, None
    column = labels.column("label")
    if pa.types.is_integer(column.type):
        return labels, None
    if not pa.types.is_string(column.type):
        hint = "name the column otherwise to keep its values as they are"
        raise UsageError(
            "the column label must hold class names or whole numbers", file=path, got=column.type, hint=hint
        )
    classes = sorted(pc.unique(column).to_pylist())
    numbers = pc.index_in(column, value_set=pa.array(classes, pa.string())).cast(pa.int64())
    return labels.set_column(labels.column_names.index("label"), "label", numbers), tuple(classes)
