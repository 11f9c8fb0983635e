"""A table that names images, videos or folders of frames in one column, and says something of them in the others.

    .csv        values separated by commas, below a header
    .jsonl      an object per line
    .parquet

The column with the names is called path, file, filename, image, video, clip, frames or name; else it is the first. What
its first name is, all are: a video by its suffix, an image by its suffix, or a folder of JPEG frames. The label is the
column `label`, or the one that `label_name` says: text becomes classes, whole numbers stay. All other columns that hold
single values (or lists of them) are kept as labels of their own names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

from penstock.errors import SourceError, StorageError, UsageError
from penstock.ingest.frame_folders import frame_folders
from penstock.ingest.image_list import is_image
from penstock.ingest.kind import Kind
from penstock.ingest.label_table import read_csv, with_classes, with_label
from penstock.ingest.listed import Rows, below, files_named, root_of, source_of
from penstock.ingest.source import Source, shown
from penstock.ingest.videos import is_video, videos
from penstock.storage.local import storage_error

if TYPE_CHECKING:
    from penstock.ingest.kind import Options

__all__ = ["TABLE"]

_COLUMNS = ("path", "file", "filename", "image", "video", "clip", "frames", "name")
_JSON_LINES = (".jsonl", ".ndjson")
_SUFFIXES = (".csv", ".parquet", *_JSON_LINES)


def _listed(path: str, options: Options) -> Source:
    """List what the rows name."""
    table, which = _read(path)
    if not len(table):
        raise SourceError("the table is empty", file=shown(path), expected="a row per sample")
    root = root_of(path, options.root)
    names = [below(root, name, f"row {row}", path) for row, name in enumerate(table.column(which).to_pylist())]
    others = with_label(table.drop_columns([which]), options.label_name, path)
    labels, classes = with_classes(others, path, options.labels)
    rows = Rows(path, names, labels, classes)
    what = _what(root, names[0])
    if what == "image":
        return source_of("table", "image", rows, files_named(root, names, rows))
    if what == "video":
        files, kept, skipped = files_named(root, names, rows)
        return source_of("table", "clip", rows, (videos(files, options), kept, skipped), is_made=True)
    if what == "frames":
        if options.frame_rate is not None:
            raise UsageError("frame_rate is about videos, and these are frames", file=shown(path))
        return source_of("table", "clip", rows, frame_folders(root, names))
    got, expected = repr(names[0]), "the name of an image, of a video, or of a folder of frames"
    hint = "say what the names are below: --root (root=…)"
    raise SourceError(f"the column {which} names nothing", file=shown(path), got=got, expected=expected, hint=hint)


def _what(root: str, name: str) -> str | None:
    """Say what a name is of: by its suffix, or because there is a folder."""
    if is_image(name):
        return "image"
    if is_video(name):
        return "video"
    return "frames" if os.path.isdir(os.path.join(root, name)) else None


def _read(path: str) -> tuple[pa.Table, str]:
    """Read a table, and find the column that names files."""
    if path.lower().endswith(".csv"):
        return read_csv(path, _COLUMNS)
    try:
        read = pyarrow.json.read_json if path.lower().endswith(_JSON_LINES) else pq.read_table
        table = read(path)
    except pa.ArrowException as error:
        raise SourceError(f"the table cannot be read: {error}", file=shown(path)) from error
    except OSError as error:
        raise storage_error(error, path) from error
    if not table.num_columns:
        raise SourceError("the table has no columns", file=shown(path))
    which = next((name for name in _COLUMNS if name in table.column_names), table.column_names[0])
    try:
        names = table.column(which).cast(pa.string())
    except pa.ArrowException as error:
        raise SourceError(f"the column {which} names no files: {error}", file=shown(path)) from error
    if names.null_count:
        raise SourceError(f"{names.null_count} rows name nothing", file=shown(path), got=f"the column {which}")
    return table.set_column(table.column_names.index(which), which, names), which


def _detects(path: str) -> bool:
    """Whether this is a table whose first row names an image, a video, or a folder that is there."""
    if not path.lower().endswith(_SUFFIXES) or not os.path.isfile(path):
        return False
    try:
        table, which = _read(path)
    except (SourceError, StorageError):
        return False
    return len(table) > 0 and _what(root_of(path, None), table.column(which)[0].as_py()) is not None


TABLE = Kind(
    name="table",
    what="a CSV, JSON-lines or Parquet table with a column of paths: images, videos or folders of frames",
    detects=_detects,
    listed=_listed,
    options=frozenset({"root", "labels", "label_name", "frame_rate"}),
    is_of_files=True,
)
