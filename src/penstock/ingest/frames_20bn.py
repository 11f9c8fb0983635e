"""Clips as folders of JPEG frames, and a list of them: the layout of 20BN-jester and 20BN-something-something.

    train.csv      id;label      a line per clip, no header; a list for testing has ids alone
    root/ID/*.jpg                the frames of a clip, in the order of their names

Classes are numbered in the order of a file that names one per line; without one, in sorted order.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.errors import SourceError, UsageError
from penstock.ingest.csv_20bn import classes_of, read_list
from penstock.ingest.items import Files, FrameFiles
from penstock.ingest.kind import Kind
from penstock.ingest.source import UNREADABLE, Skipped, Source, shown
from penstock.shard.keys import unique_keys

if TYPE_CHECKING:
    from penstock.ingest.kind import Options

__all__ = ["FRAMES_20BN"]

_SUFFIXES = (".jpg", ".jpeg")
_FOLDERS = ("frames", "20bn-jester-v1", ".")  # where the folders of frames are looked for beside the list


def _listed(path: str, options: Options) -> Source:
    """List the clips."""
    ids, labels = read_list(path)
    root = options.root if options.root is not None else _beside(path, ids)
    names, files, first, skipped, kept = [], list[tuple[str, int, int]](), [0], list[Skipped](), []
    for number, name in enumerate(ids):
        frames = _frames(root, name)
        if isinstance(frames, Skipped):
            skipped.append(frames)
            continue
        files += frames
        first.append(len(files))
        names.append(name)
        kept.append(number)
    if not names:
        got = f"none of the {len(ids)} clips of {shown(path)}, for example {skipped[0]}"
        raise SourceError("there are no frames", file=shown(root), got=got, expected="a folder of JPEGs per id")
    of_frames = Files(
        root,
        [name for name, _, _ in files],
        np.array([size for _, size, _ in files], np.int64),
        np.array([time for _, _, time in files], np.int64),
        [""] * len(files),
    )
    items = FrameFiles(of_frames, np.array(first, np.int64), names)
    numbers, classes = classes_of(labels, options.labels, path)
    table = {} if numbers is None else {"label": pa.array(numbers[kept])}
    return Source("20bn-frames", {"clip": items}, unique_keys(names)[0], pa.table(table), classes, tuple(skipped))


def _beside(path: str, ids: list[str]) -> str:
    """Find the folder of the clips' folders beside their list."""
    for folder in _FOLDERS:
        root = os.path.join(os.path.dirname(path), folder)
        if os.path.isdir(os.path.join(root, ids[0])):
            return root
    expected, hint = f"a folder that has {ids[0]}/", "say where the clips' folders are: --root (root=…)"
    raise UsageError("there are no clips beside this list", file=shown(path), expected=expected, hint=hint)


def _frames(root: str, name: str) -> list[tuple[str, int, int]] | Skipped:
    """List the frames of a clip: name, size, time."""
    try:
        with os.scandir(os.path.join(root, name)) as entries:
            found = sorted(
                (entry.name, entry.stat().st_size, entry.stat().st_mtime_ns)
                for entry in entries
                if entry.name.lower().endswith(_SUFFIXES) and not entry.name.startswith(".")
            )
    except OSError as error:
        return Skipped(shown(name), UNREADABLE, error.strerror or str(error))
    if not found:
        return Skipped(shown(name), UNREADABLE, "the folder has no JPEG frames")
    return [(f"{name}/{frame}", size, time) for frame, size, time in found]


def _detects(path: str) -> bool:
    """Whether this is a list beside which there are folders of frames."""
    if not path.lower().endswith(".csv") or not os.path.isfile(path):
        return False
    try:
        ids, _ = read_list(path)
        root = _beside(path, ids)
    except (SourceError, UsageError, OSError):
        return False
    return not isinstance(_frames(root, ids[0]), Skipped)


FRAMES_20BN = Kind(
    name="20bn-frames",
    what="a list `id;label` (CSV) and a folder of JPEG frames per id",
    detects=_detects,
    listed=_listed,
    options=frozenset({"root", "labels"}),
)
