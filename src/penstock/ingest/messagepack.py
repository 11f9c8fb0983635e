"""Reads MessagePack, with the arrays of msgpack-numpy in it (https://github.com/msgpack/msgpack/blob/master/spec.md).

An array is a map there: nd (true), type (a dtype), kind, shape, data; a single number has nd false. Its names are text
or bytes, as the writer's settings had it. Extension types are refused, as are lists deeper than any record's.
"""

from __future__ import annotations

import struct
from typing import Any, final

from penstock.errors import SourceError
from penstock.ingest.unwrapped import DEEPEST, Array, Blob, broken

__all__ = ["read_messagepack"]

_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    **dict(zip(range(0xCC, 0xD0), (">B", ">H", ">I", ">Q"), strict=True)),
    **dict(zip(range(0xD0, 0xD4), (">b", ">h", ">i", ">q"), strict=True)),
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
# First byte → what it is, and how its length is written.
_SIZED = {
    **dict(zip((0xC4, 0xC5, 0xC6), (("bytes", ">B"), ("bytes", ">H"), ("bytes", ">I")), strict=True)),
    **dict(zip((0xD9, 0xDA, 0xDB), (("text", ">B"), ("text", ">H"), ("text", ">I")), strict=True)),
    **dict(zip((0xDC, 0xDD), (("list", ">H"), ("list", ">I")), strict=True)),
    **dict(zip((0xDE, 0xDF), (("map", ">H"), ("map", ">I")), strict=True)),
}


def read_messagepack(data: bytes | memoryview) -> Any:
    """Give what a message comes to; it must be the whole of the data. SourceError where it is broken."""
    reader = _Reader(memoryview(data))
    try:
        found = reader.value(0)
    except SourceError:
        raise
    except (ValueError, TypeError, struct.error) as error:
        got = f"{type(error).__name__}: {error!s:.80}"
        raise broken("the message is broken", offset=reader.at, got=got) from None
    if reader.at != len(data):
        raise broken("the message ends with something left over", offset=reader.at, got=f"{len(data)} bytes")
    return found


@final
class _Reader:
    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> memoryview:
        if count > len(self.data) - self.at:
            raise broken("the message is cut short", offset=self.at, got=f"{len(self.data)} bytes")
        found = self.data[self.at : self.at + count]
        self.at += count
        return found

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise broken("the message is nested too deep", offset=self.at)
        code = self.take(1)[0]
        if code < 0x80:
            return code
        if code >= 0xE0:
            return code - 0x100
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code in _NUMBERS:
            return self.number(_NUMBERS[code])
        if code < 0xC0:  # a short map, list or text, its length in the same byte
            kind, size = (("map", code & 15), ("list", code & 15))[code >= 0x90] if code < 0xA0 else ("text", code & 31)
        elif code in _SIZED:
            kind, form = _SIZED[code]
            size = self.number(form)
        else:
            what = "the message has an extension type, which is refused"
            raise broken(what, offset=self.at - 1, got=f"{code:#x}")
        return self.sized(kind, size, depth)

    def sized(self, kind: str, size: int, depth: int) -> Any:
        if kind == "bytes":
            return Blob(self.take(size), self.at - size)
        if kind == "text":
            start = self.at
            raw = self.take(size)
            try:
                return str(raw, "utf-8")
            except UnicodeDecodeError:  # the old format has no bytes: everything is text
                return Blob(raw, start)
        if size * (2 if kind == "map" else 1) > len(self.data) - self.at:
            raise broken("the message is cut short", offset=self.at, got=f"{len(self.data)} bytes")
        if kind == "list":
            return [self.value(depth + 1) for _ in range(size)]
        found = {_name(self.value(depth + 1)): self.value(depth + 1) for _ in range(size)}
        return _array(found) if "nd" in found else found


def _name(value: Any) -> Any:
    if isinstance(value, Blob):
        return bytes(value).decode("utf-8", "surrogateescape")
    if value is not None and not isinstance(value, (str, int, float)):
        raise broken("a key of the message is neither text nor a number")
    return value


def _array(found: dict[Any, Any]) -> Array:
    """Read a map of msgpack-numpy."""
    dtype, data = found.get("type"), found.get("data")
    dtype = bytes(dtype).decode("latin-1") if isinstance(dtype, Blob) else dtype
    if isinstance(data, str):
        raise broken("an array's bytes are text, so they cannot be told from others")
    shape = found.get("shape", []) if found["nd"] is True else []
    if not isinstance(dtype, str) or not isinstance(data, Blob) or not isinstance(shape, list):
        raise broken("an array of another kind than numbers")
    return Array(dtype, tuple(shape), data)
