"""Videos that a list of 20BN's names by id: something-something as webm or mp4, and Jester before it became frames.

    train.csv              id;label      a line per video, no header; a list for testing has ids alone
    train.json[.gz]        [{"id": "78687", "template": "Holding [something]", …}, …]
    root/ID.webm           or .mp4, …; or the only video in a folder root/ID/

In JSON the label is the member `template`, or another one that `label_name` says. Classes are numbered in the order of
a file that names one per line; without one, in sorted order.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import SourceError, StorageError, UsageError
from penstock.ingest.csv_20bn import classes_of, read_list
from penstock.ingest.json_file import is_json, read_json
from penstock.ingest.kind import Kind
from penstock.ingest.listed import Rows, files_named, source_of
from penstock.ingest.source import Source, shown
from penstock.ingest.videos import video_named, videos

if TYPE_CHECKING:
    from penstock.ingest.kind import Options

__all__ = ["VIDEOS_20BN"]

_FOLDERS = ("videos", "20bn-something-something-v2", ".")  # where the videos are looked for beside the list
_LABEL = "template"


def _listed(path: str, options: Options) -> Source:
    """List the videos."""
    if options.label_name is not None and not is_json(path):
        raise UsageError(
            "only lists in JSON have named members", file=shown(path), got=f"label_name={options.label_name!r}"
        )
    ids, labels = _entries(path, options.label_name)
    root = options.root if options.root is not None else _beside(path, ids)
    numbers, classes = classes_of(labels, options.labels, path)
    table = pa.table({} if numbers is None else {"label": pa.array(numbers)})
    rows = Rows(path, ids, table, classes, are_paths=False)
    files, kept, skipped = files_named(root, [video_named(root, name) for name in ids], rows)
    return source_of("20bn-videos", "clip", rows, (videos(files, options), kept, skipped), is_made=True)


def _entries(path: str, label_name: str | None) -> tuple[list[str], list[str] | None]:
    """Read ids and labels."""
    if not is_json(path):
        return read_list(path)
    entries, which = read_json(path), label_name or _LABEL
    expected = f'[{{"id": "78687", "{which}": "Holding [something]"}}, …]'
    if not isinstance(entries, list) or not entries:
        raise SourceError("the list is not a JSON array of objects", file=shown(path), expected=expected)
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not _is_id(entry.get("id")):
            got = f"entry {number}: {entry!r:.100}"
            raise SourceError("an entry has no id", file=shown(path), got=got, expected=expected)
    labelled = [isinstance(entry.get(which), str) for entry in entries]
    if label_name is None and not any(which in entry for entry in entries):
        return [str(entry["id"]) for entry in entries], None
    if not all(labelled):
        number = labelled.index(False)
        got, hint = f"entry {number}: {entries[number]!r:.100}", "say which member is the label: --label-name"
        raise SourceError(f"an entry has no text {which!r}", file=shown(path), got=got, expected=expected, hint=hint)
    return [str(entry["id"]) for entry in entries], [entry[which] for entry in entries]


def _is_id(value: Any) -> bool:
    return type(value) in {int, str} and "/" not in str(value) and str(value) not in {"", ".", ".."}


def _beside(path: str, ids: list[str]) -> str:
    """Find the folder of the videos beside their list."""
    for folder in _FOLDERS:
        root = os.path.join(os.path.dirname(path), folder)
        if any(video_named(root, name) for name in ids[:3]):
            return root
    expected, hint = f"a folder that has {ids[0]}.webm or .mp4", "say where the videos are: --root (root=…)"
    raise UsageError("there are no videos beside this list", file=shown(path), expected=expected, hint=hint)


def _detects(path: str) -> bool:
    """Whether this is such a list, with videos beside it."""
    if not (path.lower().endswith(".csv") or is_json(path)) or not os.path.isfile(path):
        return False
    try:
        entries = read_json(path) if is_json(path) else None
        if entries is not None:
            ids = [str(entry["id"]) for entry in entries[:3]]
        else:
            ids, _ = read_list(path)
        _beside(path, ids)
    except (SourceError, UsageError, StorageError, KeyError, TypeError, IndexError):
        return False
    return True


VIDEOS_20BN = Kind(
    name="20bn-videos",
    what="a list `id;label` (CSV), or of objects with id and template (JSON), and a video per id",
    detects=_detects,
    listed=_listed,
    options=frozenset({"root", "labels", "label_name", "frame_rate"}),
)
