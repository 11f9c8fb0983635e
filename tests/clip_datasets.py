"""Datasets of clips for tests: frames that differ from one another, packed by the rooms below packing.

`untouched` lays them out as others do: frames padded to multiples of four bytes, and an index that knows where they are
and nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.dataset import Dataset
from penstock.ingest.file_index import FileIndex, said_of_all, unread
from penstock.shard.checks import sha256
from penstock.shard.frames import FRAME_TYPES
from penstock.shard.index import IndexRows, encode_index
from penstock.shard.manifest import IndexEntry, Manifest, ShardEntry
from penstock.shard.sample import sample_bytes
from penstock.shard.tar import END
from penstock.storage.local import LocalStore
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


def untouched(root: Path, samples: Sequence[Record]) -> Dataset:
    """Write clips into one file with padding behind each frame, and open it by an index without sizes or sums."""
    data, offsets, lengths, places, sizes = b"", [], [], [], []
    for record in samples:
        field, start, of_frames = record.fields["clip"], len(data), []
        at = 0
        for length in field.frames or ():
            of_frames.append(len(data) - start)
            data += field.data[at : at + length] + bytes(-length % 4)
            at += length
        offsets.append(start)
        lengths.append(len(data) - start)
        places.append(of_frames)
        sizes.append(field.frames)
    root.mkdir()
    (root / "data_0.bin").write_bytes(data)
    count = len(samples)
    table = pa.table(
        {
            "key": [record.key for record in samples],
            "file": pa.array(["data_0.bin"] * count).dictionary_encode(),
            "clip.offset": pa.array(offsets),
            "clip.length": pa.array(lengths),
            **unread("clip", count),
            "clip.frame_length": pa.array(sizes, FRAME_TYPES["frame_length"]),
            "clip.frame_offset": pa.array(places, FRAME_TYPES["frame_offset"]),
            "label": pa.array([record.labels["label"] for record in samples]),
        }
    )
    said = said_of_all(digest="0" * 64, classes=None, skipped=(), files=[("data_0.bin", len(data))])
    return Dataset(FileIndex(LocalStore(str(root)), table.replace_schema_metadata(said), None))
