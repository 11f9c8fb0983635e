"""Checksums of stored bytes, and the comparison of index rows with the shard they point into. No I/O.

CRC-32C guards each sample (docs/format/packed-v1.md, section 3); SHA-256 identifies whole files (section 2).
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock import _native
from penstock.errors import FormatError
from penstock.shard.members import label_members
from penstock.shard.tar import Member, members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Buffer

__all__ = ["Damage", "Row", "check_labels", "check_rows", "crc32c", "frame_sums", "sha256", "walk"]


def crc32c(data: Buffer) -> int:
    """Sum bytes as the index does."""
    return _native.crc32c(data)


def frame_sums(clip: Buffer, lengths: Iterable[int]) -> Iterator[int]:
    """Sum each frame of a clip."""
    data, start = memoryview(clip), 0
    for length in lengths:
        yield crc32c(data[start : start + length])
        start += length


def sha256(data: Buffer) -> str:
    """Digest a whole file as the manifest does."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Damage:
    """Something stored that is not as it should be."""

    file: str  # relative to the dataset
    what: str
    key: str | None = None  # None: the file as a whole
    field: str | None = None
    byte_range: tuple[int, int] | None = None
    got: str | None = None
    expected: str | None = None

    def __str__(self) -> str:
        subject = f"{self.key} ({self.field})" if self.field else self.key
        text = f"{self.file}: {subject}: {self.what}" if subject else f"{self.file}: {self.what}"
        parts = [
            f"{name} {value}" for name, value in (("got", self.got), ("expected", self.expected)) if value is not None
        ]
        where = f" (bytes {self.byte_range[0]}-{self.byte_range[1]})" if self.byte_range else ""
        return text + (": " + ", ".join(parts) if parts else "") + where

    def as_dict(self) -> dict[str, Any]:
        """Give the fields that are set, for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Row:
    """What the index says about one field of one sample."""

    key: str
    field: str
    offset: int
    length: int
    crc32c: int
    member: str  # the name that the member must have


def walk(file: str, archive: memoryview) -> tuple[dict[int, Member], list[Damage]]:
    """Find the members of an archive by the offset of their data, up to the first fault."""
    found: dict[int, Member] = {}
    try:
        for member in members(archive):
            found[member.offset] = member
    except FormatError as error:
        return found, [Damage(file, error.what, byte_range=error.byte_range)]
    return found, []


def check_rows(file: str, archive: memoryview, found: dict[int, Member], rows: Iterable[Row]) -> Iterator[Damage]:
    """Compare rows with the bytes that they point at, and the names and sizes of the members there."""
    for row in rows:
        where = (row.offset, row.offset + row.length)
        if not 0 <= row.offset <= where[1] <= len(archive):
            yield Damage(
                file, "the bytes lie outside the shard", row.key, row.field, where, None, f"at most {len(archive)}"
            )
            continue
        actual = crc32c(archive[where[0] : where[1]])
        if actual != row.crc32c:
            yield Damage(file, "checksum differs", row.key, row.field, where, f"{actual:08x}", f"{row.crc32c:08x}")
            continue
        member = found.get(row.offset)
        if member is None:
            yield Damage(file, "no tar member has its data here", row.key, row.field, where)
        elif (member.name, member.length, member.kind) != (row.member, row.length, "0"):
            got, expected = f"{member.name!r} of {member.length} bytes", f"{row.member!r} of {row.length} bytes"
            yield Damage(file, "the tar member differs", row.key, row.field, where, got, expected)


def check_labels(
    file: str, archive: memoryview, found: dict[int, Member], rows: Iterable[tuple[str, dict[str, Any]]]
) -> Iterator[Damage]:
    """Compare samples' labels with the members that repeat them."""
    by_name = {member.name: member for member in found.values()}
    for key, labels in rows:
        for name, content in label_members(key, labels):
            member = by_name.get(name)
            if member is None:
                yield Damage(file, f"the member {name} is missing", key)
                continue
            stored = bytes(archive[member.offset : member.offset + member.length])
            if stored != content:
                where = (member.offset, member.offset + member.length)
                yield Damage(file, f"the member {name} differs", key, None, where, repr(stored), repr(content))
