"""What a dataset takes on a local disk, part by part; of any form, so that forms can be compared.

    payload    the pictures
    padding    what lies around them in the same files: zeros, tar headers, labels
    index      files that only say what is where: an index and a manifest, GulpIO's metas
    slack      what the file system adds: it gives whole blocks, so half a block is lost per file, more or less
    folders    the folders themselves, which are the index of a folder of files

Together they are what `du` says. Small files lose by slack: a picture of 5 KB takes 8 KB in blocks of 4.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.ingest.items import Files, FrameFiles
from penstock.shard.manifest import INDEX_NAME, MANIFEST_NAME
from penstock.storage.local import storage_error
from penstock.storage.location import is_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.dataset import Dataset
    from penstock.ingest.source import Source

__all__ = ["Sizes", "sizes_of", "sizes_of_source"]

_INDEX_NAMES = re.compile(r"meta.*\.gmeta|label2idx\.json")  # beside data of GulpIO
_BLOCK_BYTES = 512  # what st_blocks counts, whatever the blocks of the file system are


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a dataset takes on a local disk, in bytes."""

    files: int
    payload: int
    padding: int
    index: int
    slack: int
    folders: int

    @property
    def total(self) -> int:
        """What `du` says."""
        return self.payload + self.padding + self.index + self.slack + self.folders

    def as_dict(self) -> dict[str, Any]:
        """Give the parts and their sum, for JSON."""
        return {**asdict(self), "total": self.total}


def sizes_of(dataset: Dataset) -> Sizes | None:
    """Measure a dataset; None where it is not on a local disk. Each of its files is looked at, none is read."""
    if is_url(dataset.path):
        return None
    names = dataset.names(np.arange(dataset.file_count, dtype=np.int32))
    index = [INDEX_NAME, MANIFEST_NAME]
    if dataset.packed is None:
        lie_there = os.listdir(dataset.path) if os.path.isdir(dataset.path) else []
        index = [name for name in lie_there if _INDEX_NAMES.fullmatch(name)]
    payload = 0
    for field in dataset.fields:
        column = dataset.column(field)
        payload += int((column.length if column.frames is None else column.frames.length).sum())
    return _measured(dataset.path, names, index, payload)


def sizes_of_source(source: Source) -> Sizes | None:
    """Measure a source of files; None where it is anything else."""
    found: list[tuple[str, Sequence[str], int]] = []
    for items in source.fields.values():
        files = items.frames if isinstance(items, FrameFiles) else items
        if not isinstance(files, Files):
            return None
        found.append((files.root, files.names, int(files.sizes.sum())))
    parts = [_measured(root, names, [], payload) for root, names, payload in found]
    return Sizes(*(sum(getattr(part, name) for part in parts) for name in Sizes.__slots__))


def _measured(root: str, names: Sequence[str], index: Sequence[str], payload: int) -> Sizes:
    data, blocks = 0, 0
    folders = {""}
    try:
        for name in (*names, *index):
            status = os.stat(os.path.join(root, name))
            data += status.st_size
            blocks += status.st_blocks * _BLOCK_BYTES
            folder = os.path.dirname(name)
            while folder not in folders:
                folders.add(folder)
                folder = os.path.dirname(folder)
        in_index = sum(os.stat(os.path.join(root, name)).st_size for name in index)
        of_folders = sum(os.stat(os.path.join(root, folder)).st_blocks * _BLOCK_BYTES for folder in folders)
    except OSError as error:
        raise storage_error(error) from error
    return Sizes(len(names) + len(index), payload, data - in_index - payload, in_index, blocks - data, of_folders)
