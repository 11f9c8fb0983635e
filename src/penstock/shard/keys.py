"""Names of samples: from a file's path to a key and back (docs/format/packed-v1.md, section 5).

A key is the path without the suffix of its base name. Some bytes are replaced by %XX, so that a key is valid UTF-8,
has no dot in its base name (WebDataset ends a key there), and can be turned back into the path exactly.

Paths are str as Python gives them for file names: bytes that are not UTF-8 appear as lone surrogates
("surrogateescape").
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["escape", "key_of", "split_name", "unescape", "unique_keys"]

_ALWAYS = re.compile("[%\x00-\x1f\x7f\udc80-\udcff]")  # the percent sign, control characters, bytes that are not UTF-8
_IN_BASE_NAME = re.compile("[.%\x00-\x1f\x7f\udc80-\udcff]")
_PASSED_OVER = re.compile(r"__[^/]*__/")  # WebDataset takes members below such a folder for metadata
_ESCAPED = re.compile("%([0-9A-F]{2})")


def _as_hexadecimal(match: re.Match[str]) -> str:
    (byte,) = match[0].encode("utf-8", "surrogateescape")
    return f"%{byte:02X}"


def escape(path: str) -> str:
    """Replace what no name in an index may hold; dots stay."""
    return _ALWAYS.sub(_as_hexadecimal, path)


def unescape(text: str) -> str:
    """Undo the escaping: the path as Python names files."""
    if "%" not in text:
        return text
    raw = re.sub(rb"%([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), text.encode("utf-8"))
    return raw.decode("utf-8", "surrogateescape")


def split_name(path: str) -> tuple[str, str]:
    """Cut a path into what its key is made of and its suffix (with the dot; empty where there is none)."""
    dot = path.rfind(".")
    if dot <= path.rfind("/") + 1:  # no dot in the base name, or a leading one, which makes no suffix
        return path, ""
    return path[:dot], path[dot:]


def key_of(stem: str) -> str:
    """Give the key of a path without its suffix, or of any other name: an id, whatever dots it has."""
    folder, slash, base = stem.rpartition("/")
    key = escape(folder) + slash + _IN_BASE_NAME.sub(_as_hexadecimal, base)
    return "%5F" + key[1:] if _PASSED_OVER.match(key) else key


def unique_keys(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Give each path a key of its own; (keys, suffixes). The paths must differ from one another.

    Paths that would share a key keep their suffix in it. That key may in turn be another path's, so this goes on
    until none is shared; it ends because whole paths differ.
    """
    parts = [split_name(path) for path in paths]
    keys = [key_of(stem) for stem, _ in parts]
    suffixes = [suffix for _, suffix in parts]
    while True:
        shared = {key for key, count in Counter(keys).items() if count > 1}
        changed = False
        for position, key in enumerate(keys):
            if key in shared and suffixes[position]:
                keys[position] = key_of(paths[position])
                suffixes[position] = ""
                changed = True
        if not changed:
            return keys, suffixes
