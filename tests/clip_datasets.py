"""Datasets of clips for tests: frames that differ from one another, packed by the rooms below packing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.shard.checks import sha256
from penstock.shard.index import IndexRows, encode_index
from penstock.shard.manifest import IndexEntry, Manifest, ShardEntry
from penstock.shard.sample import sample_bytes
from penstock.shard.tar import END
from penstock.types import Record, StoredField
from tests.images import jpeg, photo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SIZES = ((64, 48), (48, 64), (72, 40))
COUNTS = (9, 31, 12, 2, 24, 50, 1, 17, 13, 40, 21)  # frames of the clips; some have fewer than most samples want


@lru_cache(maxsize=4096)
def frame(number: int, at: int, width: int, height: int) -> bytes:
    """One frame of one clip, as a JPEG: another picture for each."""
    kinds: tuple[dict[str, Any], ...] = ({}, {"progressive": True}, {"restart_marker_blocks": 2}, {"subsampling": 0})
    return jpeg(photo(width, height, seed=1000 * number + at), quality=80, **kinds[number % len(kinds)])


def frames(number: int, count: int | None = None) -> list[bytes]:
    """All frames of one clip."""
    width, height = SIZES[number % len(SIZES)]
    return [frame(number, at, width, height) for at in range(COUNTS[number % len(COUNTS)] if count is None else count)]


def clip_field(encoded: Sequence[bytes], size: tuple[int, int]) -> StoredField:
    """Frames as a field's bytes."""
    return StoredField(b"".join(encoded), "mjpeg", *size, frames=tuple(map(len, encoded)))


def records(counts: Sequence[int] = COUNTS, *, fields: Sequence[str] = ("clip",)) -> list[Record]:
    """Give a sample for each count; several fields hold clips of other pictures and as many frames."""
    found = []
    for number, count in enumerate(counts):
        size = SIZES[number % len(SIZES)]
        held = {
            field: clip_field(frames(number + len(SIZES) * 100 * at, count), size) for at, field in enumerate(fields)
        }
        found.append(Record(f"{number:04d}", held, {"label": number % 5}))
    return found


def write_dataset(root: Path, samples: Sequence[Record], *, per_shard: int = 4) -> Path:
    """Write samples as a packed dataset."""
    fields = tuple(samples[0].fields)
    suffixes = {name: name.removesuffix("clip") + ".mjpeg" for name in fields}
    rows, tables, shards = IndexRows(fields, pa.schema([("label", pa.int64())])), [], []
    (root / "shards").mkdir(parents=True)
    for first in range(0, len(samples), per_shard):
        name, data = f"shards/{first // per_shard:06d}.tar", b""
        some = samples[first : first + per_shard]
        for record in some:
            laid = sample_bytes(record, suffixes)
            rows.add(laid, name, len(data))
            data += laid.data
        data += END
        (root / name).write_bytes(data)
        shards.append(ShardEntry(name, len(data), len(some), sha256(data)))
        tables.append(rows.take())
    index = encode_index(pa.concat_tables(tables)).to_pybytes()
    (root / "index.parquet").write_bytes(index)
    entry = IndexEntry("index.parquet", len(index), sha256(index))
    manifest = Manifest(len(samples), {name: {} for name in fields}, {"label": "int64"}, None, entry, tuple(shards))
    (root / "penstock.json").write_bytes(manifest.encode())
    return root
