"""A dataset as files in folders: original names, pixels identical to the source's.

Pixels stored raw become PNG. A name keeps its original suffix unless the bytes are of another format by now (encoded
again, raw): then it gets that format's. Class folders come back with the names; labels that are not classes go to
labels.csv. Where there are several fields, each has a folder of its own.

A clip is a folder of its key's name with its frames, 00001.jpg and so on; where classes are known, clips.csv lists
them as 20BN does, one `id;label` per line, so that the folder can be packed again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa
import pyarrow.csv

from penstock.decode.array import decode_array
from penstock.export.samples import class_names, number_width, original_suffixes
from penstock.export.target import write_file
from penstock.ingest.reencode import encode_png
from penstock.ingest.source import shown
from penstock.shard.keys import split_name, unescape
from penstock.shard.manifest import check_inside
from penstock.shard.members import EXTENSIONS

if TYPE_CHECKING:
    from penstock.dataset import Dataset
    from penstock.export.samples import Exported, Picture

__all__ = ["FolderTarget"]

LABELS_NAME = "labels.csv"
CLIPS_NAME = "clips.csv"
_FORMAT_OF_SUFFIX = {
    **dict.fromkeys((".jpg", ".jpeg", ".jpe", ".jfif"), "jpeg"),
    **{f".{name}": name for name in ("png", "webp", "bmp", "gif", "tiff")},
    ".tif": "tiff",
}


@final
class FolderTarget:
    """Files below a folder."""

    def __init__(self, opened: Dataset, folder: str, *, force: bool) -> None:
        self.files = self.bytes = 0
        self._opened, self._folder, self._force = opened, folder, force
        self._suffixes, self._classes = original_suffixes(opened), class_names(opened)
        self._width = max(number_width(opened, field) for field in opened.fields)
        self._names: list[str] = []  # of each sample's first field

    def write(self, sample: Exported) -> None:
        """Write a sample's files."""
        for field, picture in sample.fields.items():
            origin = unescape(sample.key)
            if field != "image" and "image" in self._suffixes:  # it was found by the image's name without the suffix
                origin = split_name(origin + self._suffixes["image"][sample.number])[0]
            suffix = "" if picture.is_clip else self._suffixes[field][sample.number]
            name = origin if picture.is_clip else _name(origin, suffix, picture.format)
            check_inside(name, f"the key {sample.key!r} of {shown(self._opened.path)}")
            several = len(self._opened.fields) > 1
            self._write(
                os.path.join(self._folder, field, name) if several else os.path.join(self._folder, name), picture
            )
            self._names += [name] if field == self._opened.fields[0] else []

    def _write(self, path: str, picture: Picture) -> None:
        for number, frame in enumerate(picture.frames, 1):
            data = encode_png(decode_array(frame)) if picture.format == "npy" else frame
            write_file(f"{path}/{number:0{self._width}}.jpg" if picture.is_clip else path, data, force=self._force)
            self.files += 1
            self.bytes += len(data)

    def finish(self) -> None:
        """Write the labels that the folders do not tell: all, but for classes that are the files' folders."""
        names, classes = self._names, self._classes
        columns: dict[str, Any] = {"file": pa.array([shown(name) for name in names], pa.string())}
        for label in self._opened.label_names:
            found = self._opened.labels(label)
            values = found if isinstance(found, pa.ChunkedArray) else pa.array(found)
            if label == "label" and classes is not None:
                if all(name.startswith(f"{class_}/") for name, class_ in zip(names, classes, strict=True)):
                    continue
                values = pa.array(classes, pa.string())
            columns[label] = values
        if len(columns) > 1:
            sink = pa.BufferOutputStream()
            pyarrow.csv.write_csv(pa.table(columns), sink)
            write_file(os.path.join(self._folder, LABELS_NAME), bytes(sink.getvalue()), force=self._force)
        if self._opened.fields == ("clip",) and classes is not None:
            rows = list(zip(names, classes, strict=True))
            if not any(sign in name + class_ for name, class_ in rows for sign in ";\n/"):
                listed = "".join(f"{name};{class_}\n" for name, class_ in rows).encode("utf-8", "surrogateescape")
                write_file(os.path.join(self._folder, CLIPS_NAME), listed, force=self._force)

    def discard(self) -> None:
        """Leave what is there: each file is whole."""


def _name(origin: str, suffix: str, format_: str) -> str:
    name = origin + suffix
    written = "png" if format_ == "npy" else format_
    if _FORMAT_OF_SUFFIX.get(split_name(name)[1].lower()) == written or written not in EXTENSIONS:
        return name
    stem = split_name(name)[0] if suffix else name
    return f"{stem}.{EXTENSIONS[written]}"
