"""Which members a sample has: their names, and what the label members say. Pure.

The rules are in docs/format/packed-v1.md, section 4.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from penstock.errors import InternalError

__all__ = ["EXTENSIONS", "field_member", "kind_of", "label_members"]

# Formats and the extensions of their members; WebDataset decodes by extension.
EXTENSIONS = {
    "jpeg": "jpg",
    "png": "png",
    "webp": "webp",
    "bmp": "bmp",
    "tiff": "tiff",
    "gif": "gif",
    "npy": "npy",
    "mjpeg": "mjpeg",
}


def kind_of(field: str) -> Literal["image", "mask", "clip"]:
    """Say what a binary field holds: its name tells."""
    if field.endswith("mask"):
        return "mask"
    return "clip" if field.endswith("clip") else "image"


def field_member(key: str, field: str, format_: str) -> str:
    """Name the member that holds a field."""
    extension = EXTENSIONS.get(format_)
    if extension is None:
        raise InternalError(f"no file extension is known for the format {format_!r}", sample=key)
    return f"{key}.{extension}" if field == "image" else f"{key}.{field}.{extension}"


def label_members(key: str, labels: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Name and content of the members that hold the labels."""
    found = []
    rest = dict(labels)
    label = rest.get("label")
    if isinstance(label, int) and not isinstance(label, bool):
        found.append((f"{key}.cls", str(rest.pop("label")).encode()))
    if rest:
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
        found.append((f"{key}.json", text.encode()))
    return found
