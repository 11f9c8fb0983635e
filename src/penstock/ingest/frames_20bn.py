"""Clips as folders of JPEG frames, and a list of them: the layout of 20BN-jester and 20BN-something-something.

    train.csv      id;label      a line per clip, no header; a list for testing has ids alone
    root/ID/*.jpg                the frames of a clip, in the order of their names

Classes are numbered in the order of a file that names one per line; without one, in sorted order.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.errors import SourceError, UsageError
from penstock.ingest.csv_20bn import classes_of, read_list
from penstock.ingest.duplicates import keys_of
from penstock.ingest.frame_folders import frame_folders, frames_in
from penstock.ingest.kind import Kind
from penstock.ingest.source import Skipped, Source, shown

if TYPE_CHECKING:
    from penstock.ingest.kind import Options

__all__ = ["FRAMES_20BN"]

_FOLDERS = ("frames", "20bn-jester-v1", ".")  # where the folders of frames are looked for beside the list


def _listed(path: str, options: Options) -> Source:
    """List the clips."""
    ids, labels = read_list(path)
    root = options.root if options.root is not None else _beside(path, ids)
    items, kept, skipped = frame_folders(root, ids)
    if not kept:
        got = f"none of the {len(ids)} clips of {shown(path)}, for example {skipped[0]}"
        raise SourceError("there are no frames", file=shown(root), got=got, expected="a folder of JPEGs per id")
    numbers, classes = classes_of(labels, options.labels, path)
    table = {} if numbers is None else {"label": pa.array(numbers[kept])}
    return Source("20bn-frames", {"clip": items}, keys_of(items.names)[0], pa.table(table), classes, tuple(skipped))


def _beside(path: str, ids: list[str]) -> str:
    """Find the folder of the clips' folders beside their list."""
    for folder in _FOLDERS:
        root = os.path.join(os.path.dirname(path), folder)
        if os.path.isdir(os.path.join(root, ids[0])):
            return root
    expected, hint = f"a folder that has {ids[0]}/", "say where the clips' folders are: --root (root=…)"
    raise UsageError("there are no clips beside this list", file=shown(path), expected=expected, hint=hint)


def _detects(path: str) -> bool:
    """Whether this is a list beside which there are folders of frames."""
    if not path.lower().endswith(".csv") or not os.path.isfile(path):
        return False
    try:
        ids, _ = read_list(path)
        root = _beside(path, ids)
    except (SourceError, UsageError, OSError):
        return False
    return not isinstance(frames_in(root, ids[0]), Skipped)


FRAMES_20BN = Kind(
    name="20bn-frames",
    what="a list `id;label` (CSV) and a folder of JPEG frames per id",
    detects=_detects,
    listed=_listed,
    options=frozenset({"root", "labels"}),
)
