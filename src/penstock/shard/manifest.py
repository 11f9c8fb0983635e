"""The manifest, `penstock.json`: what a packed dataset consists of (docs/format/packed-v1.md, section 2). No I/O.

Reading is strict about what it needs and blind to what it does not know.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.errors import FormatError

__all__ = [
    "FORMAT_VERSION",
    "INDEX_FILE",
    "INDEX_NAME",
    "MANIFEST_NAME",
    "IndexEntry",
    "Manifest",
    "ShardEntry",
    "decode_manifest",
]

MANIFEST_NAME = "penstock.json"
INDEX_NAME = "index.parquet"
INDEX_FILE = re.compile(r"index(?:-([1-9]\d*))?\.parquet")  # an extended dataset's index has a number
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """One shard as the manifest lists it."""

    file: str
    bytes: int
    samples: int
    sha256: str


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The index file as the manifest lists it."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything the manifest says."""

    samples: int
    fields: dict[str, dict[str, Any]]
    labels: dict[str, str]
    classes: tuple[str, ...] | None
    index: IndexEntry
    shards: tuple[ShardEntry, ...]
    pack: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Give the bytes of the file: indented for people, the same for the same content."""
        body = {"format": "penstock", "version": FORMAT_VERSION, **asdict(self)}
        return (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode()


def decode_manifest(data: bytes, file: str) -> Manifest:
    """Read a manifest's bytes; `file` is named in errors."""
    try:
        body = json.loads(data)
    except ValueError as error:
        raise FormatError(f"the manifest is not JSON: {error}", file=file) from error
    if not isinstance(body, dict) or body.get("format") != "penstock":
        raise FormatError("not a penstock manifest", file=file, expected='a JSON object with "format": "penstock"')
    if body.get("version") != FORMAT_VERSION:
        hint = "a newer penstock wrote this dataset: update penstock"
        raise FormatError(
            "unknown format version", file=file, got=body.get("version"), expected=FORMAT_VERSION, hint=hint
        )
    try:
        index = _pick(body["index"], {"file": str, "bytes": int, "sha256": str})
        shards = [_pick(item, {"file": str, "bytes": int, "samples": int, "sha256": str}) for item in body["shards"]]
        manifest = Manifest(
            samples=_pick(body, {"samples": int})["samples"],
            fields=_pick(body, {"fields": dict})["fields"],
            labels=_pick(body, {"labels": dict})["labels"],
            classes=None if body.get("classes") is None else tuple(str(name) for name in body["classes"]),
            index=IndexEntry(**index),
            shards=tuple(ShardEntry(**shard) for shard in shards),
            pack=_pick(body, {"pack": dict})["pack"] if "pack" in body else {},
            provenance=_pick(body, {"provenance": dict})["provenance"] if "provenance" in body else {},
        )
    except (KeyError, TypeError) as error:
        raise FormatError(f"the manifest lacks something: {error}", file=file) from error
    for name in (manifest.index.file, *(shard.file for shard in manifest.shards)):
        check_inside(name, file)
    counted = sum(shard.samples for shard in manifest.shards)
    if counted != manifest.samples:
        raise FormatError("the shards' samples do not add up", file=file, got=counted, expected=manifest.samples)
    return manifest


def _pick(body: dict[str, Any], members: dict[str, type]) -> dict[str, Any]:
    """Take the members that are known, and see that they are what they should be."""
    for name, kind in members.items():
        value = body[name]
        if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value < 0):
            raise TypeError(f"{name} is {value!r:.80}, not of type {kind.__name__}")
    return {name: body[name] for name in members}


def check_inside(name: str, file: str) -> None:
    """Refuse a file name that could point outside the dataset."""
    if "\0" in name or any(part in {"", ".", ".."} for part in name.split("/")):
        raise FormatError(
            "a file name may not leave the dataset", file=file, got=repr(name), expected="a relative path"
        )
