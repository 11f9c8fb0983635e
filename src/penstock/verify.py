"""Checks a packed dataset whole: every file, every tar member, every row of the index, every checksum, every header.

Nothing stops at the first fault: the report lists all that is damaged, sample by sample where that can be said.

    penstock.json    can be read; shards and samples add up
    index.parquet    size and SHA-256 as in the manifest; keys differ from one another; as many rows per shard as
                     stated; every label is one of the classes
    shards           size and SHA-256 as in the manifest; the archive is sound from end to end; none besides lies there
    every field      its range lies in the shard, matches its CRC-32C, is the data of the member named after the key,
                     and begins with a header of the format and size that the index states
    every label      its member says what the index says
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.decode.array import probe_array
from penstock.decode.image import probe_image
from penstock.errors import FormatError, ImageError, StorageError, UsageError
from penstock.ingest.source import shown
from penstock.pipeline.cores import allowed_cores
from penstock.shard.checks import Damage, Row, check_labels, check_rows, frame_sums, sha256, walk
from penstock.shard.frames import FRAME_TYPES
from penstock.shard.manifest import MANIFEST_NAME, IndexEntry, Manifest, ShardEntry, decode_manifest
from penstock.shard.members import EXTENSIONS, field_member, kind_of
from penstock.storage.journal import is_unfinished
from penstock.storage.object import ObjectStore
from penstock.storage.store import read_large
from penstock.storage.where import place_of, store_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.storage.local import LocalStore
    from penstock.storage.location import Access
    from penstock.storage.store import Store

__all__ = ["VerifyReport", "verify"]

_MEMORY_BYTES = 2 * 1024**3  # shards are checked in memory, as many at once as fit in here
_INDEX_TYPES = {
    "offset": pa.int64(),
    "length": pa.int64(),
    "crc32c": pa.uint32(),
    "format": None,
    "width": pa.int32(),
    "height": pa.int32(),
}
_FRAME_TYPES = {part: FRAME_TYPES[part] for part in ("frame_length", "frame_crc32c")}


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a check found."""

    path: str
    samples: int
    shards: int
    checked_bytes: int
    damages: tuple[Damage, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged."""
        return not self.damages

    @property
    def damaged_samples(self) -> tuple[str, ...]:
        """Keys of the samples that are damaged."""
        return tuple(sorted({damage.key for damage in self.damages if damage.key is not None}))

    def as_dict(self) -> dict[str, Any]:
        """Give the report for JSON."""
        return {
            "path": shown(self.path),
            "is_sound": self.is_sound,
            "samples": self.samples,
            "shards": self.shards,
            "checked_bytes": self.checked_bytes,
            "damaged_samples": list(self.damaged_samples),
            "damages": [damage.as_dict() for damage in self.damages],
        }


def verify(
    path: str | os.PathLike[str],
    *,
    workers: int | None = None,
    access: Access | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> VerifyReport:
    """Check a packed dataset in a folder or at a URL, which `access` says how to get at.

    `progress` is called with the shards checked and their number.
    """
    folder = os.fspath(path)
    store = store_at(folder, access)
    if store.size(MANIFEST_NAME) is None:
        expected = "a packed dataset (only those have checksums)"
        raise UsageError("there is no packed dataset here", file=shown(folder), expected=expected)
    try:
        manifest = decode_manifest(store.read(MANIFEST_NAME), MANIFEST_NAME)
    except FormatError as error:
        return VerifyReport(folder, 0, 0, 0, (Damage(MANIFEST_NAME, error.what, got=_text(error.got)),))
    except StorageError as error:
        return VerifyReport(folder, 0, 0, 0, (_unreadable(MANIFEST_NAME, error),))
    table, damages = _checked_index(store, manifest)
    if table is not None:
        damages += _counted(table, manifest)
        damages += _outside_classes(table, manifest)
    damages += _unnamed(store, manifest)
    largest = max((shard.bytes for shard in manifest.shards), default=1)
    threads = max(1, min(workers or allowed_cores(), _MEMORY_BYTES // max(largest, 1)))
    checked = manifest.index.bytes
    with ThreadPoolExecutor(threads, "penstock-verify") as pool:
        for number, found in enumerate(pool.map(partial(_checked_shard, store, manifest, table), manifest.shards)):
            damages += found
            checked += manifest.shards[number].bytes
            if progress is not None:
                progress(number + 1, len(manifest.shards))
    return VerifyReport(folder, manifest.samples, len(manifest.shards), checked, tuple(damages))


def _outside_classes(table: pa.Table, manifest: Manifest) -> Iterator[Damage]:
    """Find labels that are no positions among the classes."""
    if manifest.classes is None or "label" not in manifest.labels:
        return
    file, kind, count = manifest.index.file, table.schema.field("label").type, len(manifest.classes)
    if not pa.types.is_integer(kind):
        yield Damage(file, "there are classes, but the label is no number", got=str(kind), expected="int64")
        return
    label = table.column("label")
    is_class = pc.fill_null(pc.and_(pc.greater_equal(label, 0), pc.less(label, count)), fill_value=False)
    wrong = table.select(["key", "label"]).filter(pc.invert(is_class)).to_pylist()
    for row in wrong:
        expected = f"less than {count}, the number of classes"
        yield Damage(file, "the label is no class", row["key"], got=_text(row["label"]), expected=expected)


def _unnamed(store: LocalStore | ObjectStore, manifest: Manifest) -> Iterator[Damage]:
    """Find shards beside those of the manifest: remains of another dataset, which tools that read all would mix in.

    Where nothing can list what there is, no tool can read all. While the dataset is being extended there are new shards
    that the manifest does not name yet.
    """
    if (isinstance(store, ObjectStore) and not store.lists) or is_unfinished(place_of(store)):
        return
    named = {shard.file for shard in manifest.shards}
    for place in sorted({os.path.dirname(name) for name in named}):
        names = place_of(store).files(place)
        if names is None:
            yield Damage(place or ".", "the folder is not there or cannot be listed")
            continue
        found = (os.path.join(place, name) for name in sorted(names) if name.endswith(".tar"))
        yield from (Damage(shown(name), "the manifest does not name this shard") for name in found if name not in named)


def _unreadable(file: str, error: StorageError) -> Damage:
    return Damage(file, f"cannot be read: {error.what}", got=_text(error.got))


def _checked_file(store: Store, entry: IndexEntry | ShardEntry) -> tuple[memoryview | None, list[Damage]]:
    try:
        data = read_large(store, entry.file)
    except StorageError as error:
        return None, [_unreadable(entry.file, error)]
    if len(data) != entry.bytes:
        return data, [
            Damage(
                entry.file, "the size differs from the manifest's", None, None, None, str(len(data)), str(entry.bytes)
            )
        ]
    digest = sha256(data)
    if digest != entry.sha256:
        return data, [
            Damage(entry.file, "the SHA-256 differs from the manifest's", None, None, None, digest, entry.sha256)
        ]
    return data, []


def _checked_index(store: Store, manifest: Manifest) -> tuple[pa.Table | None, list[Damage]]:
    entry = manifest.index
    data, damages = _checked_file(store, entry)
    if data is None:
        return None, damages
    try:
        table = pq.read_table(pa.BufferReader(data))
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        return None, [*damages, Damage(entry.file, f"the index cannot be read: {error}")]
    wanted = {"key": None, "file": None, **dict.fromkeys(manifest.labels)}
    for field in manifest.fields:
        parts = _INDEX_TYPES | _FRAME_TYPES if kind_of(field) == "clip" else _INDEX_TYPES
        wanted |= {f"{field}.{part}": kind for part, kind in parts.items()}
    for name, kind in wanted.items():
        if name not in table.column_names or (kind is not None and table.schema.field(name).type != kind):
            return None, [*damages, Damage(entry.file, f"the column {name} is missing or has another type")]
        if table.column(name).null_count and name not in manifest.labels:
            return None, [*damages, Damage(entry.file, f"the column {name} has empty values")]
    return table, damages


def _counted(table: pa.Table, manifest: Manifest) -> Iterator[Damage]:
    """Compare what the index has with what the manifest says it has."""
    file = manifest.index.file
    if len(table) != manifest.samples:
        yield Damage(file, "the number of rows differs", None, None, None, str(len(table)), str(manifest.samples))
    counts = table.column("key").value_counts().to_pylist()
    yield from (Damage(file, "two rows have this key", item["values"]) for item in counts if item["counts"] > 1)
    files = table.column("file").cast(pa.string()).value_counts().to_pylist()
    rows = {item["values"]: item["counts"] for item in files}
    for shard in manifest.shards:
        count = rows.pop(shard.file, 0)
        if count != shard.samples:
            yield Damage(shard.file, "the number of samples differs", None, None, None, str(count), str(shard.samples))
    yield from (
        Damage(file, f"{count} rows name a file that the manifest does not list: {name}")
        for name, count in rows.items()
    )


def _checked_shard(store: Store, manifest: Manifest, table: pa.Table | None, entry: ShardEntry) -> list[Damage]:
    data, damages = _checked_file(store, entry)
    mine = None if table is None else _rows_in(table, entry.file)
    if data is None:
        keys = [] if mine is None else mine.column("key").to_pylist()
        return [*damages, *(Damage(entry.file, "its shard cannot be read", key) for key in keys)]
    found, faults = walk(entry.file, data)
    damages += faults
    if mine is not None:
        for field in manifest.fields:
            damages += _checked_field(entry.file, data, found, mine, field)
        names = list(manifest.labels)
        labels = mine.select(names).to_pylist() if names else [{}] * len(mine)
        damages += check_labels(entry.file, data, found, zip(mine.column("key").to_pylist(), labels, strict=True))
    return damages


def _rows_in(table: pa.Table, file: str) -> pa.Table:
    return table.filter(pc.equal(table.column("file").cast(pa.string()), file))


def _checked_field(
    file: str, archive: memoryview, found: dict[int, Any], mine: pa.Table, field: str
) -> Iterator[Damage]:
    parts = ("offset", "length", "crc32c", "format", "width", "height")
    columns = [mine.column("key").to_pylist(), *(mine.column(f"{field}.{part}").to_pylist() for part in parts)]
    frames: list[Any] = [None] * len(mine)
    if kind_of(field) == "clip":
        of_frames = (mine.column(f"{field}.{part}").to_pylist() for part in _FRAME_TYPES)
        frames = list(zip(*of_frames, strict=True))
    for key, offset, length, crc, format_, width, height, inside in zip(*columns, frames, strict=True):
        if format_ not in EXTENSIONS:
            yield Damage(file, "the format is unknown", key, field, None, repr(format_), ", ".join(EXTENSIONS))
            continue
        row = Row(key, field, offset, length, crc, field_member(key, field, format_))
        damages = list(check_rows(file, archive, found, [row]))
        yield from damages
        if damages:
            continue
        data = bytes(archive[offset : offset + length])
        if inside is None:
            yield from _checked_header(file, data, row, (format_, width, height))
        else:
            yield from _checked_frames(file, data, row, inside, (width, height))


def _checked_frames(
    file: str, data: bytes, row: Row, stated: tuple[list[int], list[int]], size: tuple[int, int]
) -> Iterator[Damage]:
    """Check that a clip is its frames, one after another, and each the image that the index states."""
    lengths, sums = stated
    where = (row.offset, row.offset + row.length)
    if len(sums) != len(lengths) or min(lengths, default=0) < 1 or sum(lengths) != row.length:
        got, expected = f"{len(lengths)} of {sum(lengths)} bytes together", f"{row.length} bytes"
        yield Damage(file, "the frames are not the clip", row.key, row.field, where, got, expected)
        return
    start = 0
    for number, (length, expected_sum, actual) in enumerate(zip(lengths, sums, frame_sums(data, lengths), strict=True)):
        field = f"{row.field}, frame {number}"
        frame = replace(row, field=field, offset=row.offset + start, length=length)
        if actual != expected_sum:
            where = (frame.offset, frame.offset + length)
            yield Damage(file, "checksum differs", row.key, field, where, f"{actual:08x}", f"{expected_sum:08x}")
        yield from _checked_header(file, data[start : start + length], frame, ("jpeg", *size))
        start += length


def _checked_header(file: str, data: bytes, row: Row, stated: tuple[str, int, int]) -> Iterator[Damage]:
    where = (row.offset, row.offset + row.length)
    try:
        actual = ("npy", *probe_array(data)[:2]) if stated[0] == "npy" else probe_image(data)
    except ImageError as error:
        yield Damage(file, f"the stored image's header cannot be read: {error.what}", row.key, row.field, where)
        return
    if actual != stated:
        got, expected = (f"{name} {width}x{height}" for name, width, height in (actual, stated))
        yield Damage(file, "the stored image is not what the index states", row.key, row.field, where, got, expected)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
