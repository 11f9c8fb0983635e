"""A list of loose objects, as a file: what `penstock index` writes and `penstock.open` reads.

    .json       an array of keys: ["train/n01440764/1.JPEG", …], the plainest form there is, and nothing else
    .parquet    columns key, size, label and crc32c; root and the classes' names in the metadata of its schema

Keys are names below a root: a bucket, a place in it, or a folder. They are data from outside: a key that would lead out
of the root, or that no store can be asked for, is refused.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import FormatError, UsageError
from penstock.ingest.object_classes import Classes
from penstock.ingest.source import shown
from penstock.shard.index import numpy_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ObjectList", "decode_list", "encode_list", "is_object_list"]

_MEMBER = b"penstock.objects"
_NO_NAME = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\x00\ud800-\udfff]")  # empty parts, . and .., what is not UTF-8


@final
@dataclass(frozen=True, slots=True)
class ObjectList:
    """Keys, and what is known of them."""

    keys: list[str]
    sizes: NDArray[np.int64] | None = None
    classes: Classes | None = None
    root: str | None = None
    checksums: NDArray[np.uint32] | None = None


def is_object_list(path: str) -> bool:
    """Whether a file is such a list, by its name."""
    return path.lower().endswith((".json", ".parquet")) and not os.path.isdir(path)


def encode_list(objects: ObjectList, path: str) -> bytes:
    """Give a list as a file of the form that its name says: the same bytes for the same list."""
    if path.lower().endswith(".json"):
        return json.dumps(objects.keys, ensure_ascii=False).encode()
    if not is_object_list(path):
        raise UsageError("an index has one of two forms", got=shown(path), expected="a name in .json or .parquet")
    columns = {"key": pa.array(objects.keys, pa.string()), "size": pa.array(objects.sizes, pa.int64())}
    names = None
    if objects.classes is not None:
        columns["label"], names = pa.array(objects.classes.labels), objects.classes.names
    if objects.checksums is not None:
        columns["crc32c"] = pa.array(objects.checksums, pa.uint32())
    rest = {"root": objects.root, "classes": names}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns).replace_schema_metadata({_MEMBER: json.dumps(rest)}), sink, compression="zstd")
    return bytes(sink.getvalue())


def decode_list(data: bytes, path: str) -> ObjectList:
    """Read a list."""
    found = _from_json(data, path) if path.lower().endswith(".json") else _from_parquet(data, path)
    if not found.keys:
        raise FormatError("the index names no objects", file=shown(path))
    bad = [key for key in found.keys if _NO_NAME.search(key)]
    if bad:
        expected = "names below the root, without empty parts, . and .."
        raise FormatError(f"{len(bad)} keys name no object", file=shown(path), got=repr(bad[0]), expected=expected)
    if len(set(found.keys)) < len(found.keys):
        seen: set[str] = set()
        twice = next(key for key in found.keys if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        count = len(found.keys) - len(set(found.keys))
        raise FormatError(f"the index names {count} objects again", file=shown(path), got=shown(twice))
    return found


def _from_json(data: bytes, path: str) -> ObjectList:
    try:
        keys = json.loads(data)
    except ValueError as error:
        what = f"the index is not JSON: {error}"
        raise FormatError(what, file=shown(path), expected="an array of keys") from None
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        got = f"an array with {next(key for key in keys if not isinstance(key, str))!r}" if type(keys) is list else None
        what, got = "the index is not an array of texts", got or type(keys).__name__
        raise FormatError(what, file=shown(path), got=got, expected='["folder/1.jpg", …]')
    return ObjectList(keys)


def _from_parquet(data: bytes, path: str) -> ObjectList:
    try:
        table = pq.read_table(pa.BufferReader(data))
        if "key" not in table.schema.names:
            raise FormatError("the index lacks a column", file=shown(path), got=table.schema.names, expected="key")
        columns: dict[str, Any] = {
            name: numpy_of(table.column(name).cast(kind))
            for name, kind in (("size", pa.int64()), ("label", pa.int64()), ("crc32c", pa.uint32()))
            if name in table.schema.names
        }
        keys: list[str] = table.column("key").cast(pa.string()).to_pylist()
        rest = json.loads((table.schema.metadata or {}).get(_MEMBER, b"{}"))
        names = None if rest.get("classes") is None else tuple(map(str, rest["classes"]))
    except (pa.ArrowException, ValueError, AttributeError, TypeError) as error:
        raise FormatError(f"the index cannot be read: {error}", file=shown(path)) from error
    if None in keys:
        raise FormatError("the index has rows without a key", file=shown(path))
    sizes, labels = columns.get("size"), columns.get("label")
    if sizes is not None and sizes.min(initial=0) < 0:
        raise FormatError("the index holds a negative size", file=shown(path), got=int(sizes.min()))
    if (
        labels is not None
        and names is not None
        and not 0 <= labels.min(initial=0) <= labels.max(initial=0) < len(names)
    ):
        got = f"{labels.min()} to {labels.max()}"
        raise FormatError("labels that are no class", file=shown(path), got=got, expected=f"0 to {len(names) - 1}")
    named = None if labels is None else Classes(labels, names)
    return ObjectList(keys, sizes, named, rest.get("root"), columns.get("crc32c"))
