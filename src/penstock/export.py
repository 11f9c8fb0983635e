"""Gives the files of a dataset back: original names, pixels identical to the source's.

A stored JPEG is written as it is stored (tiled, which changes no pixel); pixels stored raw become PNG. A name keeps
its original suffix unless the bytes are of another format by now (encoded again, raw): then it gets that format's.
Class folders come back with the names; labels that are not classes go to labels.csv. Where there are several fields,
each has a folder of its own.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from penstock.dataset import Dataset
from penstock.decode.array import decode_array
from penstock.errors import FormatError, UsageError
from penstock.ingest.reencode import encode_png
from penstock.ingest.source import shown
from penstock.opening import open_dataset
from penstock.shard.keys import split_name, unescape
from penstock.shard.manifest import check_inside
from penstock.shard.members import EXTENSIONS
from penstock.storage.local import storage_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.storage.location import Access
    from penstock.types import StoredField

__all__ = ["ExportReport", "export"]

LABELS_NAME = "labels.csv"
READ_BYTES = 32 * 2**20  # at a time
_FORMAT_OF_SUFFIX = {
    **dict.fromkeys((".jpg", ".jpeg", ".jpe", ".jfif"), "jpeg"),
    **{f".{name}": name for name in ("png", "webp", "bmp", "gif", "tiff")},
    ".tif": "tiff",
}


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written."""

    path: str
    files: int
    bytes: int

    def as_dict(self) -> dict[str, Any]:
        """Give the report for JSON."""
        return {"path": shown(self.path), "files": self.files, "bytes": self.bytes}


def export(
    dataset: Dataset | str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    force: bool = False,
    access: Access | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ExportReport:
    """Write a dataset's files below a folder. `dataset` may be a URL, which `access` says how to get at.

    The folder must be new or empty, unless `force` allows replacing files in it.
    """
    opened = dataset if isinstance(dataset, Dataset) else open_dataset(dataset, access=access)
    folder = os.fspath(destination)
    if os.path.lexists(folder) and not force and (not os.path.isdir(folder) or os.listdir(folder)):
        hint = "choose another folder, or replace files in it with --force (force=True)"
        raise UsageError("the destination is not empty", file=shown(folder), hint=hint)
    suffixes, classes = _suffixes(opened), _classes(opened)
    names: list[str] = []
    written = 0
    for number, key, fields in _read(opened):
        for field, stored in fields.items():
            origin = unescape(key)
            if field != "image" and "image" in suffixes:  # it was found by the image's name without the suffix
                origin = split_name(origin + suffixes["image"][number])[0]
            name = _name(origin, suffixes[field][number], stored.format)
            check_inside(name, f"the key {key!r} of {shown(opened.path)}")
            data = encode_png(decode_array(stored.data)) if stored.format == "npy" else stored.data
            path = os.path.join(folder, name) if len(opened.fields) == 1 else os.path.join(folder, field, name)
            _write(path, data, force=force)
            written += len(data)
            names += [name] if field == opened.fields[0] else []
        if progress is not None:
            progress(number + 1, len(opened))
    _write_labels(opened, names, classes, folder, force=force)
    return ExportReport(folder, len(opened) * len(opened.fields), written)


def _read(opened: Dataset) -> Iterator[tuple[int, str, dict[str, StoredField]]]:
    """Give every sample's number, key and fields. Many are read at a time: a store is far away."""
    ends = np.cumsum(sum(opened.column(field).length for field in opened.fields))
    start = 0
    while start < len(opened):
        before = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, before + READ_BYTES, "right")), start + 1)
        blocks = {field: opened.read(range(start, stop), field) for field in opened.fields}
        for number in range(start, stop):
            fields = {}
            for field, block in blocks.items():
                begin, length = int(block.offsets[number - start]), int(block.lengths[number - start])
                fields[field] = opened.checked(number, field, block.data[begin : begin + length].tobytes())
            yield number, opened.key(number), fields
        start = stop


def _suffixes(opened: Dataset) -> dict[str, list[str]]:
    """Give the original suffixes by field; an untouched folder's names have theirs in the column `file`."""
    table = opened.index
    if "file" in table.column_names and pa.types.is_string(table.schema.field("file").type):
        keys, files = (table.column(name).to_pylist() for name in ("key", "file"))
        # A key that kept its suffix (escaped) has nothing to add to it.
        own = [
            "" if unescape(key) == unescape(file) else split_name(file)[1]
            for key, file in zip(keys, files, strict=True)
        ]
        return dict.fromkeys(opened.fields, own)
    missing = [field for field in opened.fields if f"{field}.suffix" not in table.column_names]
    if missing:
        raise FormatError("the index does not say what the files were called", expected=f"a column {missing[0]}.suffix")
    return {field: table.column(f"{field}.suffix").to_pylist() for field in opened.fields}


def _name(origin: str, suffix: str, format_: str) -> str:
    name = origin + suffix
    written = "png" if format_ == "npy" else format_
    if _FORMAT_OF_SUFFIX.get(split_name(name)[1].lower()) == written:
        return name
    stem = split_name(name)[0] if suffix else name
    return f"{stem}.{EXTENSIONS[written]}"


def _write(path: str, data: bytes, *, force: bool) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if force else "xb") as file:
            file.write(data)
    except OSError as error:
        raise storage_error(error, path) from error


def _classes(opened: Dataset) -> list[str] | None:
    """Name every sample's class, where there are classes."""
    if opened.classes is None or "label" not in opened.label_names:
        return None
    labels = opened.labels("label")
    found = labels.to_pylist() if isinstance(labels, pa.ChunkedArray) else labels.tolist()
    wrong = [number for number, label in enumerate(found) if label not in range(len(opened.classes))]
    if wrong:
        what, hint = f"the label of {len(wrong)} samples is no class", "run `penstock verify` on the dataset"
        got, expected = found[wrong[0]], f"less than {len(opened.classes)}, the number of classes"
        key = opened.key(wrong[0])
        raise FormatError(what, file=shown(opened.path), sample=key, got=got, expected=expected, hint=hint)
    return [opened.classes[label] for label in found]


def _write_labels(opened: Dataset, names: list[str], classes: list[str] | None, folder: str, *, force: bool) -> None:
    """Write the labels that the folders do not tell: all, but for classes that are the files' folders."""
    columns: dict[str, Any] = {"file": pa.array([shown(name) for name in names], pa.string())}
    for label in opened.label_names:
        found = opened.labels(label)
        values = found if isinstance(found, pa.ChunkedArray) else pa.array(found)
        if label == "label" and classes is not None:
            if all(name.startswith(f"{class_}/") for name, class_ in zip(names, classes, strict=True)):
                continue
            values = pa.array(classes, pa.string())
        columns[label] = values
    if len(columns) > 1:
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(pa.table(columns), sink)
        _write(os.path.join(folder, LABELS_NAME), bytes(sink.getvalue()), force=force)
