"""A dataset as tars in the WebDataset convention: what has one key is one sample, the rest of a name says what it is.

    000000.tar     KEY.jpg (or .png, …), KEY.cls (the label's number), KEY.json (all other labels)
                   of a clip KEY.00001.jpg, KEY.00002.jpg, …: frames decode as any image does
    classes.txt    the names of the classes, one per line, in the order of their numbers

These are the members of a packed dataset's shards (shard/members.py) but for clips, whose frames lie there in one
member that WebDataset has no decoder for. A shard ends where the next sample would make it larger than asked for, and
gets its name when it is whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, final

from penstock.errors import ImageError
from penstock.export.samples import class_names, number_width
from penstock.export.target import LargeFiles, at_least_one, each_once
from penstock.ingest.source import shown
from penstock.shard.manifest import check_inside
from penstock.shard.members import EXTENSIONS, field_member, label_members
from penstock.shard.tar import END, member_header, padding

if TYPE_CHECKING:
    from penstock.dataset import Dataset
    from penstock.export.samples import Exported, Picture

__all__ = ["WebDatasetTarget"]

CLASSES_NAME = "classes.txt"
_OURS = re.compile(r"\d{6,}\.tar|classes\.txt")
_SHARD_BYTES = 256 * 1024 * 1024  # as `pack` makes them


@final
class WebDatasetTarget:
    """Tars in a folder."""

    def __init__(self, opened: Dataset, folder: str, shard_bytes: int | None, *, force: bool) -> None:
        self.files = self.bytes = 0
        self._opened, self._out = opened, LargeFiles(folder)
        self._shard_bytes = at_least_one("shard_bytes", shard_bytes, _SHARD_BYTES)
        self._width = {field: number_width(opened, field) for field in opened.fields}
        self._has_classes = class_names(opened) is not None
        each_once(opened.index.column("key").to_pylist(), shown(opened.path))
        if force:
            self._out.clear(_OURS)

    def write(self, sample: Exported) -> None:
        """Append a sample's members to a shard."""
        check_inside(sample.key, shown(self._opened.path))
        members = [
            member for field, picture in sample.fields.items() for member in self._members(sample.key, field, picture)
        ]
        self.bytes += sum(len(data) for _, data in members)
        members += label_members(sample.key, dict(sample.labels))
        data = b"".join(
            piece for name, data in members for piece in (member_header(name, len(data)), data, padding(len(data)))
        )
        if self._out.size and self._out.size + len(data) + len(END) > self._shard_bytes:
            self._close_shard()
        self._out.append(f"{self.files:06d}.tar", data)

    def _members(self, key: str, field: str, picture: Picture) -> list[tuple[str, bytes]]:
        if picture.format not in EXTENSIONS:
            raise ImageError("not an image, so no extension says what it is", sample=key)
        if not picture.is_clip:
            return [(field_member(key, field, picture.format), picture.frames[0])]
        stem = key if field == "clip" else f"{key}.{field}"
        return [(f"{stem}.{number:0{self._width[field]}}.jpg", data) for number, data in enumerate(picture.frames, 1)]

    def _close_shard(self) -> None:
        self._out.append("", END)
        self._out.finish()
        self.files += 1

    def finish(self) -> None:
        """End the last shard; name the classes."""
        if self._out.size:
            self._close_shard()
        if self._has_classes:
            text = "".join(f"{shown(name)}\n" for name in self._opened.classes or ())
            self._out.write(CLASSES_NAME, text.encode())

    def discard(self) -> None:
        """Leave no half of a shard behind."""
        self._out.discard()
