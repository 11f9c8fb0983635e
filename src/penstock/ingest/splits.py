"""The splits of a Hugging Face dataset on disk, and the files of each, by what the files and folders are called.

dataset_dict.json                       names the splits, each a folder of its own
state.json                              names the files of one split
[data/]train-00000-of-00002[-hash].parquet (or .arrow)
train/0000.parquet                      the folder is the split
name-train.arrow                        as in the library's cache
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import SourceError, UsageError
from penstock.ingest.json_file import read_json
from penstock.ingest.source import shown

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = ["Split", "is_table", "splits_at"]

_TABLES = (".parquet", ".arrow")
_FOLDERS = ("data", "default", "train", "validation", "valid", "val", "test")  # looked into: others may hold anything
_COUNTED = re.compile(r"-\d{5}-of-\d{5}(?:-[0-9a-f]+)?$", re.ASCII)


@dataclass(frozen=True, slots=True)
class Split:
    """The files of a split, in order."""

    root: str
    files: tuple[str, ...]  # relative to the root


def is_table(path: str) -> bool:
    """Whether a file is a table by its name."""
    return path.lower().endswith(_TABLES) and os.path.isfile(path)


def splits_at(path: str) -> dict[str, Split]:
    """Find the splits at a path, one at least."""
    if is_table(path):
        return {"train": Split(os.path.dirname(path) or ".", (os.path.basename(path),))}
    if os.path.isfile(os.path.join(path, "dataset_dict.json")):
        return _of_dict(path)
    if os.path.isfile(os.path.join(path, "state.json")):
        return {"train": _saved(path)}
    found: dict[str, list[str]] = {}
    for file in _files(path):
        found.setdefault(_split_of(file), []).append(file)
    if not found:
        raise UsageError("there are no tables here", file=shown(path), expected="files in .parquet or .arrow")
    return {name: Split(path, tuple(files)) for name, files in found.items()}


def _of_dict(path: str) -> dict[str, Split]:
    where = os.path.join(path, "dataset_dict.json")
    body = read_json(where)
    names = body.get("splits") if isinstance(body, dict) else None
    if not isinstance(names, list) or not names or not all(_is_name(name) for name in names):
        raise SourceError("the file names no splits", file=shown(where), expected='{"splits": ["train", …]}')
    return {name: _saved(os.path.join(path, name)) for name in names}


def _saved(folder: str) -> Split:
    where = os.path.join(folder, "state.json")
    body = read_json(where)
    entries = body.get("_data_files") if isinstance(body, dict) else None
    files = [entry.get("filename") for entry in entries if isinstance(entry, dict)] if type(entries) is list else []
    names = [name for name in files if _is_name(name)]
    if not names or len(names) < len(files):
        expected = '{"_data_files": [{"filename": "data-00000-of-00001.arrow"}, …]}'
        raise SourceError("the file names no tables", file=shown(where), expected=expected)
    if body.get("_indices_files"):
        hint = "write it anew: dataset.flatten_indices().save_to_disk(…)"
        raise SourceError("the dataset was saved with indices", file=shown(where), hint=hint)
    return Split(folder, tuple(names))


def _is_name(name: Any) -> TypeGuard[str]:
    return isinstance(name, str) and name not in {"", ".", ".."} and not {"/", "\0"} & set(name)


def _files(path: str) -> list[str]:
    """List the tables of a folder, and of those folders in it that are called as splits are."""
    found = [name for name in sorted(os.listdir(path)) if is_table(os.path.join(path, name))]
    for folder in _FOLDERS:
        inside = os.path.join(path, folder)
        if os.path.isdir(inside):
            found += [f"{folder}/{name}" for name in sorted(os.listdir(inside)) if is_table(os.path.join(inside, name))]
    return found


def _split_of(file: str) -> str:
    folder, _, base = file.rpartition("/")
    stem = _COUNTED.sub("", base.rpartition(".")[0])
    if folder not in {"", "data", "default"} or not stem or stem.isdigit() or stem == "data":
        return folder or "train"
    return stem.rpartition("-")[2]
