"""A dataset as a directory of GulpIO, which versions 1 and 2 read: chunks, their metas, label2idx.json.

The layout is GulpIO's, byte for byte (ingest/gulp_meta.py); the JPEGs are the dataset's, where GulpIO would encode
anew. An item's id is its key with the suffix that it had. It says of itself `id`, `label` (the class's name), `idx`
(its number in label2idx.json) and then every other label.

A directory that is extended keeps its chunks and the numbers of its labels; new chunks come behind, new labels too. An
id that is there already cannot be written once more: no reader could tell the two apart. A chunk gets its name when it
is whole, its meta after it.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, final

from penstock.decode.image import sniff
from penstock.errors import SourceError, UsageError
from penstock.export.samples import class_names, original_suffixes
from penstock.export.target import LargeFiles, at_least_one, each_once
from penstock.ingest.gulp_directory import LABELS_NAME, existing_directory
from penstock.ingest.gulp_meta import encode_meta, filled_up
from penstock.ingest.source import shown
from penstock.shard.keys import unescape

if TYPE_CHECKING:
    from penstock.dataset import Dataset
    from penstock.export.samples import Exported

__all__ = ["GulpTarget"]

_OURS = re.compile(r"data_\d+\.gulp|meta_\d+\.gmeta|label2idx\.json")
_ITEMS_PER_CHUNK = 100  # as with GulpIO


@final
class GulpTarget:
    """Chunks in a folder."""

    def __init__(self, opened: Dataset, folder: str, per_chunk: int | None, *, extend: bool, force: bool) -> None:
        self.files = self.bytes = 0
        self._out = LargeFiles(folder)
        self._per_chunk = at_least_one("videos_per_chunk", per_chunk, _ITEMS_PER_CHUNK)
        if len(opened.fields) != 1 or opened.fields[0] not in {"image", "clip"}:
            raise UsageError("GulpIO holds images or clips alone", file=shown(opened.path), got=opened.fields)
        (field,) = opened.fields
        suffixes = original_suffixes(opened)[field]
        keys = opened.index.column("key").to_pylist()
        self._ids = [_id(unescape(key) + suffix) for key, suffix in zip(keys, suffixes, strict=True)]
        each_once(self._ids, shown(opened.path))
        self._classes = class_names(opened)
        self._next, self._numbers = 0, dict[str, int]()
        if extend and os.path.isdir(folder):
            self._next, known, self._numbers = existing_directory(folder)
            twice = sorted(known.intersection(self._ids))
            if twice:
                got = f"{len(twice)} of them, such as {twice[0]!r}"
                hint = "leave them out with Dataset.select, or write into a new directory"
                raise UsageError("ids are in the directory already", file=shown(folder), got=got, hint=hint)
        if force:
            self._out.clear(_OURS)
        new = [name for name in opened.classes or () if name not in self._numbers] if self._classes is not None else []
        self._numbers |= {name: number for number, name in enumerate(new, len(self._numbers))}
        self._meta: dict[str, tuple[list[tuple[int, int, int]], dict[str, Any]]] = {}

    def write(self, sample: Exported) -> None:
        """Append a sample to a chunk."""
        (picture,) = sample.fields.values()
        id_, start, frames = self._ids[sample.number], self._out.size, list[tuple[int, int, int]]()
        for number, frame in enumerate(picture.frames):
            if sniff(frame) != "jpeg":
                hint = "pack it with quality=90 and export that"
                got = sniff(frame) or "no image"
                raise SourceError(
                    f"GulpIO holds JPEGs alone, but picture {number} is none", sample=id_, got=got, hint=hint
                )
        records = [filled_up(frame) for frame in picture.frames]
        for record, zeros in records:
            frames.append((start, zeros, len(record)))
            start += len(record)
        self._out.append(f"data_{self._next}.gulp", b"".join(record for record, _ in records))
        self.bytes += sum(map(len, picture.frames))
        self._meta[id_] = (frames, self._said(sample, id_))
        if len(self._meta) == self._per_chunk:
            self._close_chunk()

    def _said(self, sample: Exported, id_: str) -> dict[str, Any]:
        said: dict[str, Any] = {"id": id_}
        if self._classes is not None:
            name = self._classes[sample.number]
            said |= {"label": name, "idx": self._numbers[name]}
        return said | {name: value for name, value in sample.labels.items() if name not in said}

    def _close_chunk(self) -> None:
        self._out.finish()
        self._out.write(f"meta_{self._next}.gmeta", encode_meta(self._meta))
        self.files += 1
        self._meta, self._next = {}, self._next + 1

    def finish(self) -> None:
        """End the last chunk; number the labels."""
        if self._meta:
            self._close_chunk()
        if self._numbers:
            self._out.write(LABELS_NAME, json.dumps(self._numbers).encode("ascii"))

    def discard(self) -> None:
        """Leave no half of a chunk behind."""
        self._out.discard()


def _id(name: str) -> str:
    """Take a name for an id; bytes of it that are not UTF-8 cannot be in JSON."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return shown(name)
    return name
