"""Kinetics: a JSON file of videos, and the parts that were cut from them, in a folder per class.

    {"---QUuC4vJs": {"annotations": {"label": "testifying", "segment": [84.0, 94.0]},
                     "duration": 10.0, "subset": "validate", "url": "https://…"}, …}
    root/testifying/---QUuC4vJs_000084_000094.mp4

The label is the record's, not the folder's, which may write it otherwise. The whole record is kept beside it, as JSON.
A record without a segment takes the only part that there is of its video. Subsets and missing labels as ActivityNet's.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from penstock.errors import SourceError, StorageError
from penstock.ingest.activitynet import rows_of_records
from penstock.ingest.json_file import is_json, read_json
from penstock.ingest.kind import Kind
from penstock.ingest.listed import files_named, root_of, source_of
from penstock.ingest.listing import list_folder
from penstock.ingest.source import NOT_A_VIDEO, shown
from penstock.ingest.videos import VIDEO_SUFFIXES, videos
from penstock.shard.keys import split_name

if TYPE_CHECKING:
    from penstock.ingest.kind import Options
    from penstock.ingest.source import Source

__all__ = ["KINETICS"]

_PART = re.compile(r"^(.+)_(\d{6})_(\d{6})$", re.ASCII)


def _listed(path: str, options: Options) -> Source:
    """List the parts."""
    body = read_json(path)
    if not isinstance(body, dict) or not body or not all(isinstance(record, dict) for record in body.values()):
        expected = '{"id": {"annotations": {"label": …, "segment": […]}, "subset": …}, …}'
        raise SourceError("the file is not Kinetics'", file=shown(path), expected=expected)
    rows, records = rows_of_records(path, body, options)
    root = root_of(path, options.root)
    parts = _parts(root)
    names = [_part_of(parts.get(name, {}), record) for name, record in zip(rows.names, records, strict=True)]
    files, kept, skipped = files_named(root, names, rows)
    return source_of("kinetics", "clip", rows, (videos(files, options), kept, skipped), is_made=True)


def _parts(root: str) -> dict[str, dict[tuple[int, int], str]]:
    """Find all parts below the root: by id, then by their first and last second."""
    found: dict[str, dict[tuple[int, int], str]] = {}
    for file in list_folder(root, VIDEO_SUFFIXES, NOT_A_VIDEO).files:
        match = _PART.match(split_name(file.name)[0].rpartition("/")[2])
        if match:
            found.setdefault(match[1], {})[int(match[2]), int(match[3])] = file.name
    return found


def _part_of(parts: dict[tuple[int, int], str], record: dict[str, Any]) -> str | None:
    annotations = record.get("annotations")
    segment = annotations.get("segment") if isinstance(annotations, dict) else None
    if segment is None:
        return next(iter(parts.values())) if len(parts) == 1 else None
    try:
        start, stop = (round(float(second)) for second in segment)
    except (TypeError, ValueError):
        return None
    return parts.get((start, stop))


def _detects(path: str) -> bool:
    """Whether this is JSON of records by id, each with a subset or annotations."""
    if not is_json(path) or not os.path.isfile(path):
        return False
    try:
        body = read_json(path)
    except (SourceError, StorageError):
        return False
    if not isinstance(body, dict) or not body or isinstance(body.get("database"), dict):
        return False
    first = next(iter(body.values()))
    return isinstance(first, dict) and (isinstance(first.get("annotations"), dict) or {"subset", "url"} <= first.keys())


KINETICS = Kind(
    name="kinetics",
    what="a JSON file of videos by id, and <class>/<id>_<start>_<end>.mp4 beside it; --subset",
    detects=_detects,
    listed=_listed,
    options=frozenset({"root", "labels", "subset", "frame_rate"}),
)
