"""A list of images: `path,label` per line, no header. What Caffe and many after it read.

    train/cat/1.jpg,cat
    train/dog/7.jpg,dog

Paths are below a root, by default the list's folder. The last comma of a line ends its path, so that paths may hold
commas; a line that ends like an image's name has no label. Labels that are all whole numbers stay those numbers, others
become classes: in the order of a file that names one per line, or sorted.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.errors import SourceError, StorageError
from penstock.ingest.kind import Kind
from penstock.ingest.label_table import with_classes
from penstock.ingest.listed import Rows, below, files_named, root_of, source_of
from penstock.ingest.listing import IMAGE_SUFFIXES
from penstock.ingest.source import Source, shown
from penstock.storage.local import read_file, storage_error

if TYPE_CHECKING:
    from penstock.ingest.kind import Options

__all__ = ["IMAGE_LIST", "is_image"]

_LISTS = (".txt", ".csv", ".lst", ".list")
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)


def _listed(path: str, options: Options) -> Source:
    """List the images."""
    lines = _lines(path)
    root = root_of(path, options.root)
    names = [below(root, name, f"line {number}", path) for number, name, _ in lines]
    labels = [label for _, _, label in lines]
    table, classes, lacking = _labels(labels, path, options.labels)
    rows = Rows(path, names, table, classes, lacking)
    return source_of("image-list", "image", rows, files_named(root, names, rows))


def is_image(name: str) -> bool:
    """Whether a file is an image by its name."""
    return os.path.splitext(name)[1].lower() in IMAGE_SUFFIXES


def _labels(
    labels: list[str | None], path: str, names: str | None
) -> tuple[pa.Table, tuple[str, ...] | None, frozenset[int]]:
    """Give a column of numbers, what they stand for, and which rows have none."""
    known = [label for label in labels if label is not None]
    if not known:
        return pa.table({"none": pa.nulls(len(labels))}).select([]), None, frozenset()
    lacking = frozenset(row for row, label in enumerate(labels) if label is None)
    filled = [known[0] if label is None else label for label in labels]
    are_numbers = all(_WHOLE.fullmatch(label) for label in known)
    column = pa.array(map(int, filled), pa.int64()) if are_numbers else pa.array(filled, pa.string())
    table, classes = with_classes(pa.table({"label": column}), path, names)
    return table, classes, lacking


def _lines(path: str) -> list[tuple[int, str, str | None]]:
    """Read lines: number, path, label."""
    try:
        text = read_file(path).decode("utf-8-sig")
    except OSError as error:
        raise storage_error(error, path) from error
    except UnicodeDecodeError as error:
        raise SourceError("the list is not text in UTF-8", file=shown(path), got=str(error)) from error
    found = [(number, *_parted(line.strip())) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not found:
        raise SourceError("the list is empty", file=shown(path), expected="a line `path,label` per image")
    return found


def _parted(line: str) -> tuple[str, str | None]:
    name, comma, label = line.rpartition(",")
    if not comma or is_image(label):
        return line, None
    return name.strip(), label.strip() or None


def _detects(path: str) -> bool:
    """Whether this is a list whose first line names an image."""
    if not path.lower().endswith(_LISTS) or not os.path.isfile(path):
        return False
    try:
        _, name, _ = _lines(path)[0]
    except (SourceError, StorageError):
        return False
    return is_image(name)


IMAGE_LIST = Kind(
    name="image-list",
    what="a list `path,label` of images, without a header",
    detects=_detects,
    listed=_listed,
    options=frozenset({"root", "labels"}),
    is_of_files=True,
)
