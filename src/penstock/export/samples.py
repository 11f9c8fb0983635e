"""The samples of a dataset as they are given back: pictures by field, checked, and what their files were called.

A picture is a whole file. A field of images has one per sample, a clip has its frames. Many samples are read at a time,
because a store may be far away.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.errors import FormatError
from penstock.ingest.source import shown
from penstock.shard.keys import split_name, unescape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.dataset import Dataset

__all__ = ["Exported", "Picture", "class_names", "exported", "number_width", "original_suffixes"]

READ_BYTES = 32 * 2**20  # at a time


@dataclass(frozen=True, slots=True)
class Picture:
    """One field of one sample."""

    format: str
    frames: tuple[bytes, ...]  # of an image: the image
    is_clip: bool


@dataclass(frozen=True, slots=True)
class Exported:
    """One sample."""

    number: int
    key: str
    fields: Mapping[str, Picture]
    labels: Mapping[str, Any]


def exported(opened: Dataset) -> Iterator[Exported]:
    """Give every sample, in order."""
    values = {name: opened.index.column(name) for name in opened.label_names}
    ends = np.cumsum(sum(opened.column(field).length for field in opened.fields))
    start = 0
    while start < len(opened):
        before = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, before + READ_BYTES, "right")), start + 1)
        blocks = {field: opened.read(range(start, stop), field) for field in opened.fields}
        labels = {name: column.slice(start, stop - start).to_pylist() for name, column in values.items()}
        for number in range(start, stop):
            fields = {}
            for field, block in blocks.items():
                begin, length = int(block.offsets[number - start]), int(block.lengths[number - start])
                data = block.data[begin : begin + length].tobytes()
                stored = opened.checked(number, field, data)
                frames = (stored.data,) if stored.frames is None else _cut(stored.data, stored.frames)
                fields[field] = Picture(stored.format, frames, is_clip=stored.frames is not None)
            said = {name: column[number - start] for name, column in labels.items()}
            yield Exported(number, opened.key(number), fields, said)
        start = stop


def _cut(data: bytes, lengths: Sequence[int]) -> tuple[bytes, ...]:
    ends = list(accumulate(lengths))
    return tuple(data[end - length : end] for end, length in zip(ends, lengths, strict=True))


def original_suffixes(opened: Dataset) -> dict[str, list[str]]:
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


def class_names(opened: Dataset) -> list[str] | None:
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


def number_width(opened: Dataset, field: str) -> int:
    """Say how many digits the frames of a field are numbered with, so that names sort as numbers do: at least 5."""
    frames = opened.column(field).frames
    most = 0 if frames is None or len(opened) == 0 else int(np.diff(frames.first).max())
    return max(5, len(str(most)))
