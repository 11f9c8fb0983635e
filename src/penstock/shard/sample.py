"""One sample as the bytes of its tar members (docs/format/packed-v1.md, section 4). Pure, so any thread may do it.

Whoever writes a shard only appends the bytes and notes where they went: nothing is worked out in the one place that is
serial.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.shard.checks import crc32c, frame_sums
from penstock.shard.members import field_member, label_members
from penstock.shard.tar import member_header, padding

if TYPE_CHECKING:
    from penstock.types import Record

__all__ = ["FieldPlace", "SampleBytes", "sample_bytes"]


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """Where a field's bytes are inside a sample's bytes, and what the index says about them."""

    offset: int
    length: int
    crc32c: int
    format: str
    width: int
    height: int
    suffix: str
    frame_length: tuple[int, ...] | None = None  # of a clip: its frames, one after another
    frame_crc32c: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class SampleBytes:
    """All members of one sample, ready to be appended to a shard."""

    key: str
    data: bytes
    fields: dict[str, FieldPlace]
    labels: dict[str, Any]

    def __repr__(self) -> str:
        return f"SampleBytes({self.key}, {len(self.data)} bytes)"


def sample_bytes(record: Record, suffixes: dict[str, str]) -> SampleBytes:
    """Lay out a record's members, sum its fields, and say where each one starts."""
    pieces: list[bytes] = []
    places: dict[str, FieldPlace] = {}
    size = 0
    for name, field in record.fields.items():
        length = len(field.data)
        header = member_header(field_member(record.key, name, field.format), length)
        filling = padding(length)
        pieces += (header, field.data, filling)
        places[name] = FieldPlace(
            size + len(header),
            length,
            crc32c(field.data),
            field.format,
            field.width,
            field.height,
            suffixes[name],
            field.frames,
            None if field.frames is None else tuple(frame_sums(field.data, field.frames)),
        )
        size += len(header) + length + len(filling)
    for name, content in label_members(record.key, record.labels):
        pieces += (member_header(name, len(content)), content, padding(len(content)))
    return SampleBytes(record.key, b"".join(pieces), places, record.labels)
