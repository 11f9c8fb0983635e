"""A finished shard as the journal of a pack keeps it: its rows, and how far through the source it came. No I/O.

The form is an Arrow stream whose schema carries the rest as JSON. It is private to packing and gone when packing is
done.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from penstock.errors import FormatError
from penstock.shard.manifest import ShardEntry

__all__ = ["Piece", "decode_piece"]

_MEMBER = b"penstock.piece"


@dataclass(frozen=True, slots=True)
class Piece:
    """One shard that is written and lasting."""

    entry: ShardEntry
    stop: int  # how many of the source's items, in write order, this shard and those before it have used up
    source_bytes: int
    outcomes: dict[str, int]  # what was done to how many items
    kept: dict[str, int]  # why items were stored as they were
    skipped: list[dict[str, Any]]
    rows: pa.Table

    def encode(self) -> bytes:
        """Give the piece as bytes."""
        rest = asdict(self.entry), self.stop, self.source_bytes, self.outcomes, self.kept, self.skipped
        table = self.rows.replace_schema_metadata({_MEMBER: json.dumps(rest)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())


def decode_piece(data: bytes, file: str) -> Piece:
    """Read what `encode` gave; `file` is named in errors."""
    try:
        table = pa.ipc.open_stream(data).read_all()
        entry, stop, source_bytes, outcomes, kept, skipped = json.loads(table.schema.metadata[_MEMBER])
    except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
        hint = "start over with --force"
        raise FormatError(f"the journal of an unfinished pack is damaged: {error}", file=file, hint=hint) from error
    rows = table.replace_schema_metadata(None)
    return Piece(ShardEntry(**entry), stop, source_bytes, outcomes, kept, skipped, rows)
