"""From finished shards to a dataset: their rows become the index, and the manifest, written last, says so.

A reader sees the dataset from the moment its manifest is there, or of an extended one, from the moment the new manifest
has taken the old one's place.
"""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SourceError
from penstock.extension import index_before, index_behind
from penstock.ingest.source import SKIPPED_OUTCOMES, shown
from penstock.shard.checks import sha256
from penstock.shard.index import encode_index
from penstock.shard.manifest import INDEX_FILE, INDEX_NAME, MANIFEST_NAME, IndexEntry, Manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.extension import Extended
    from penstock.ingest.source import Skipped, Source
    from penstock.shard.piece import Piece
    from penstock.storage.place import Place
    from penstock.writer import ShardWriter

__all__ = ["VERSION", "publish", "remove_older_indexes"]

VERSION = version("penstock")


def publish(
    place: Place, found: Source, settings: dict[str, Any], writer: ShardWriter, extended: Extended | None
) -> None:
    """Write the index, then the manifest; an extension by nothing changes nothing."""
    done = writer.finish()
    skipped = sorted({*found.skipped, *writer.skipped}, key=lambda item: (item.name, item.outcome, item.why))
    if not done:
        if extended is not None and not writer.skipped:
            return
        example = str(skipped[0]) if skipped else None
        file, expected = shown(place.store.place), "at least one image"
        raise SourceError("nothing could be packed", file=file, got=example, expected=expected)
    table = pa.concat_tables([piece.rows for piece in done])
    if extended is None:
        index, name = encode_index(table), INDEX_NAME
    else:
        index, name = encode_index(extended.joined(table)), index_behind(extended.manifest.index.file)
    place.write(name, index)
    entry = IndexEntry(name, index.size, sha256(index))
    manifest = _manifest(found, settings, done, skipped, table=table, index=entry)
    writer.confirm()
    place.write(MANIFEST_NAME, (manifest if extended is None else extended.manifest_with(manifest)).encode())


def remove_older_indexes(place: Place, current: str) -> None:
    """Remove all indexes but the one that the manifest names and the one before, which readers may have open."""
    names = [name for name in place.files("") or () if INDEX_FILE.fullmatch(name)]
    place.remove([name for name in names if name not in {current, index_before(current)}])


def _manifest(
    found: Source,
    settings: dict[str, Any],
    done: Sequence[Piece],
    skipped: Sequence[Skipped],
    *,
    table: pa.Table,
    index: IndexEntry,
) -> Manifest:
    """Say what the shards that were written are; `table` has their rows."""
    outcomes = Counter(item.outcome for item in skipped)
    kept: Counter[str] = Counter()
    for piece in done:
        outcomes.update({name: count for name, count in piece.outcomes.items() if name not in SKIPPED_OUTCOMES})
        kept.update(piece.kept)
    source_bytes = sum(piece.source_bytes for piece in done)
    return Manifest(
        samples=len(table),
        fields={field: _field_summary(table, field) for field in found.fields},
        labels={column.name: str(column.type) for column in found.labels.schema},
        classes=found.classes,
        index=index,
        shards=tuple(piece.entry for piece in done),
        pack=settings,
        provenance={
            "penstock": VERSION,
            "source": {"kind": found.kind, "files": len(table) * len(found.fields), "bytes": source_bytes},
            "outcomes": dict(sorted(outcomes.items())),
            "kept": dict(sorted(kept.items())),
            "skipped": [item.as_dict() for item in skipped],
        },
    )


def _field_summary(table: pa.Table, field: str) -> dict[str, Any]:
    counts = pc.value_counts(table.column(f"{field}.format").cast(pa.string())).to_pylist()
    formats = dict(sorted((item["values"], item["counts"]) for item in counts))
    return {"formats": formats, "bytes": pc.sum(table.column(f"{field}.length")).as_py()}
