"""Walks a tar archive by anybody: header by header, without the data between them.

POSIX ustar and pax, GNU's long names and large sizes, and the form before all of these. A member is given as its name,
its type and where its data is; which types are of use is the caller's to say. An archive that breaks off, or has no
header where one must be, is an error at that byte, after everything before it was given.

    header     512 bytes: name 0, size 124, checksum 148, type 156, magic 257, prefix 345; data, filled up to 512
    pax        a member of type x (for the next one) or g (for all that follow): records `length name=value`
    GNU        a member of type L, whose data is the next one's name
    the end    a block of zeros
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from penstock.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["DIRECTORY", "REGULAR", "SPARSE", "Entry", "walk"]

_BLOCK = 512
_ZEROS = bytes(_BLOCK)
_LARGEST_HEADER = 1 << 20  # of names and pax records
REGULAR, DIRECTORY, SPARSE = "0", "5", "S"
_REGULAR_TYPES = {"0", "\0", "7"}
_BEFORE_OTHERS = {"x", "g", "L", "K"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A member."""

    name: str  # bytes that are not UTF-8 as lone surrogates
    kind: str  # REGULAR, DIRECTORY, SPARSE, or the letter of another type
    offset: int  # of its data
    length: int


def walk(read: Callable[[int, int], bytes], size: int) -> Iterator[Entry]:
    """Give the members of an archive of `size` bytes; `read` gives so many bytes from an offset on."""
    position, said = 0, _Said()
    while True:
        if position + _BLOCK > size:
            what = "the tar ends without its closing block" if position == size else "the tar is cut short in a header"
            raise SourceError(what, byte_range=(position, size))
        block = read(position, _BLOCK)
        if block == _ZEROS:
            return
        _check_sum(block, position)
        kind, start = block[156:157].decode("latin-1"), _behind_map(read, block, position, size)
        length = _size(block, position) if kind in _BEFORE_OTHERS else said.size(_size(block, position), position)
        if start + length > size:
            what = "the tar is cut short in a member"
            raise SourceError(what, sample=_name(block), got=f"{size} bytes", byte_range=(start, start + length))
        if kind in _BEFORE_OTHERS:
            if length > _LARGEST_HEADER:
                raise SourceError("a header's records are too long", byte_range=(start, start + length))
            said.take(kind, read(start, length), start)
        else:
            name = said.name(_name(block))
            yield Entry(name, said.kind(kind, name), start, length)
            said.once = {}
        position = min(start + length + -length % _BLOCK, size)


def _behind_map(read: Callable[[int, int], bytes], block: bytes, position: int, size: int) -> int:
    """Say where a member's data begins: behind its header, and in a sparse file of GNU behind the rest of its map."""
    start = position + _BLOCK
    goes_on = block[156:157] == b"S" and block[482] != 0
    while goes_on and start + _BLOCK <= size:
        goes_on = read(start, _BLOCK)[504] != 0
        start += _BLOCK
    return start


@final
class _Said:
    """What headers say of the members behind them."""

    def __init__(self) -> None:
        self.always: dict[str, bytes] = {}
        self.once: dict[str, bytes] = {}

    def take(self, kind: str, content: bytes, start: int) -> None:
        """Note what a member says of others."""
        if kind == "L":
            self.once["path"] = content.rstrip(b"\0")
        elif kind == "x":
            self.once |= _records(content, start)
        elif kind == "g":
            self.always |= _records(content, start)

    def size(self, stated: int, position: int) -> int:
        """Give the size of a member that states one itself."""
        digits = self.once.get("size", self.always.get("size"))
        return stated if digits is None else _number(digits, position)

    def name(self, stated: str) -> str:
        """Give the name of a member that states one itself."""
        found = self.once.get("path", self.always.get("path"))
        return stated if found is None else found.decode("utf-8", "surrogateescape")

    def kind(self, stated: str, name: str) -> str:
        """Give the type of a member."""
        if any(key.startswith("GNU.sparse") for key in self.once):
            return SPARSE
        if stated in _REGULAR_TYPES:
            return DIRECTORY if name.endswith("/") else REGULAR
        return stated


def _check_sum(block: bytes, position: int) -> None:
    stored = block[148:156].split(b"\0")[0].strip()
    rest = block[:148] + block[156:]
    spaces = 8 * ord(" ")
    signed = sum(rest) - 256 * sum(byte > 127 for byte in rest)
    try:
        found = int(stored, 8)
    except ValueError:
        found = -1
    if found not in {sum(rest) + spaces, signed + spaces}:
        where = (position, position + _BLOCK)
        raise SourceError("this is no header of a tar", got=f"checksum {stored!r}", byte_range=where)


def _size(block: bytes, position: int) -> int:
    field = block[124:136]
    if field[0] == 0x80:  # GNU's form of what eleven octal digits cannot say
        return int.from_bytes(field[1:], "big")
    digits = field.split(b"\0")[0].strip()
    try:
        found = int(digits, 8) if digits else 0
    except ValueError:
        found = -1
    if found < 0:
        where = (position, position + _BLOCK)
        raise SourceError("a member's size is no number", got=repr(field), byte_range=where)
    return found


def _number(digits: bytes, position: int) -> int:
    if not digits.isdigit() or len(digits) > 18:
        where = (position, position + _BLOCK)
        raise SourceError("a member's size is no number", got=repr(digits[:20]), byte_range=where)
    return int(digits)


def _name(block: bytes) -> str:
    name = block[:100].split(b"\0", 1)[0]
    prefix = block[345:500].split(b"\0", 1)[0] if block[257:263] == b"ustar\0" else b""
    return (prefix + b"/" + name if prefix else name).decode("utf-8", "surrogateescape")


def _records(content: bytes, start: int) -> dict[str, bytes]:
    """Read pax records: each is its length, a space, NAME=VALUE, a line feed."""
    found, at = dict[str, bytes](), 0
    while at < len(content) and content[at]:
        digits = content[at : at + 12].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record = content[at + len(digits) + 1 : at + length]
        if not len(digits) + 2 < length <= len(content) - at or b"=" not in record:
            where = (start + at, start + len(content))
            raise SourceError("a pax record's length is wrong", got=repr(digits), byte_range=where)
        name, _, value = record[:-1].partition(b"=")
        found[name.decode("utf-8", "replace")] = value
        at += length
    return found
