"""ActivityNet, and what is published in its form: a JSON file of videos, and the videos by their ids.

    {"database": {"sJFgo9H6zNo": {"subset": "training", "duration": 30.1,
                                  "annotations": [{"segment": [2.1, 8.0], "label": "Zumba"}]}, …}}
    root/sJFgo9H6zNo.mp4       or another format, or v_sJFgo9H6zNo.mp4 as the originals are called; *.part is none

The label is that of a video's first annotation; the whole record is kept beside it, as JSON. Where no video that was
asked for has an annotation (testing) there are no labels; where some have, a video without one is reported.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import SourceError, StorageError, UsageError
from penstock.ingest.csv_20bn import classes_of
from penstock.ingest.json_file import is_json, read_json
from penstock.ingest.kind import Kind
from penstock.ingest.listed import Rows, files_named, root_of, source_of
from penstock.ingest.source import shown
from penstock.ingest.videos import video_named, videos

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.ingest.kind import Options
    from penstock.ingest.source import Source

__all__ = ["ACTIVITYNET", "rows_of_records"]


def _listed(path: str, options: Options) -> Source:
    """List the videos."""
    body = read_json(path)
    if not isinstance(body, dict) or not isinstance(body.get("database"), dict):
        expected = '{"database": {"id": {"subset": …, "annotations": […]}, …}}'
        raise SourceError("the file is not ActivityNet's", file=shown(path), expected=expected)
    rows, _ = rows_of_records(path, body["database"], options)
    root = root_of(path, options.root)
    names = [video_named(root, name) or video_named(root, f"v_{name}") for name in rows.names]
    files, kept, skipped = files_named(root, names, rows)
    return source_of("activitynet", "clip", rows, (videos(files, options), kept, skipped), is_made=True)


def rows_of_records(path: str, records: Mapping[str, Any], options: Options) -> tuple[Rows, list[dict[str, Any]]]:
    """Take the records of a subset: their ids, labels and JSON, as rows; and the records."""
    for name, record in records.items():
        if not isinstance(record, dict) or not name or "/" in name or "\0" in name:
            got = f"{name!r}: {record!r:.100}"
            raise SourceError("an entry is not a record of a video", file=shown(path), got=got)
    subsets = sorted({str(record.get("subset")) for record in records.values()})
    if options.subset is not None and options.subset not in subsets:
        raise UsageError("no such subset", file=shown(path), got=repr(options.subset), expected=", ".join(subsets))
    chosen = {name: record for name, record in records.items() if options.subset in {None, str(record.get("subset"))}}
    labels = [_label(name, record, path) for name, record in chosen.items()]
    known = [label for label in labels if label is not None]
    table: dict[str, Any] = {"record": [json.dumps(r, sort_keys=True, ensure_ascii=False) for r in chosen.values()]}
    classes, lacking = None, frozenset[int]()
    if known:
        numbers, classes = classes_of([label or known[0] for label in labels], options.labels, path)
        table = {"label": pa.array(numbers), **table}
        lacking = frozenset(row for row, label in enumerate(labels) if label is None)
    return Rows(path, list(chosen), pa.table(table), classes, lacking, are_paths=False), list(chosen.values())


def _label(name: str, record: dict[str, Any], path: str) -> str | None:
    """Give a record's label: of its annotation, of the first of several, or its own."""
    annotations = record.get("annotations")
    first = annotations[0] if isinstance(annotations, list) and annotations else annotations or record
    label = first.get("label") if isinstance(first, dict) else None
    if label is not None and not isinstance(label, str):
        raise SourceError("a label is no text", file=shown(path), sample=shown(name), got=f"{label!r:.100}")
    return label


def _detects(path: str) -> bool:
    """Whether this is JSON with a database of records."""
    if not is_json(path) or not os.path.isfile(path):
        return False
    try:
        body = read_json(path)
    except (SourceError, StorageError):
        return False
    return isinstance(body, dict) and isinstance(body.get("database"), dict)


ACTIVITYNET = Kind(
    name="activitynet",
    what="a JSON file with a `database` of videos, and <id>.mp4 (webm, …) beside it; --subset",
    detects=_detects,
    listed=_listed,
    options=frozenset({"root", "labels", "subset", "frame_rate"}),
)
