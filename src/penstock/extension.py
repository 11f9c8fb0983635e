"""Extending a packed dataset: what it asks of samples that are to be added, and what its manifest says afterwards.

New shards lie behind the old ones, which nobody touches. The new index has a name of its own, so the old manifest
speaks of the old index until the new manifest takes its place, at once: whatever happens, the dataset is the old one or
the new one. The index before stays for those who have the dataset open, until the next extension.

Numbers of classes keep their meaning: new classes are numbered behind the old ones.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.claim import encode_plan, extends
from penstock.errors import FormatError, UsageError
from penstock.ingest.source import shown
from penstock.shard.checks import sha256
from penstock.shard.manifest import INDEX_FILE, INDEX_NAME, MANIFEST_NAME, Manifest, decode_manifest
from penstock.storage.journal import is_unfinished, plan_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.ingest.source import Source
    from penstock.storage.place import Place

__all__ = ["Extended", "index_before", "index_behind"]


@dataclass(frozen=True, slots=True)
class Extended:
    """The dataset that is added to, as it was before."""

    place: Place
    manifest: Manifest
    digest: str  # of the manifest

    @staticmethod
    def at(place: Place) -> Extended:
        """Give the dataset in a place."""
        where = shown(place.store.place)
        encoded = place.read(MANIFEST_NAME)
        if encoded is None:
            hint = "pack it without --extend (extend=True)"
            if is_unfinished(place):
                hint = "it is not finished: run the command that began it again, then extend it"
            raise UsageError("there is no dataset to extend", file=where, hint=hint)
        manifest = decode_manifest(encoded, os.path.join(where, MANIFEST_NAME))
        return Extended(place, manifest, hashlib.sha256(encoded).hexdigest())

    @property
    def where(self) -> str:
        """Where it is, fit for printing."""
        return shown(self.place.store.place)

    @property
    def next_shard(self) -> int:
        """The number of the first shard that is new."""
        numbers = (os.path.basename(shard.file).partition(".")[0] for shard in self.manifest.shards)
        return 1 + max((int(number) for number in numbers if number.isdigit()), default=-1)

    def fitted(self, source: Source) -> Source:
        """See that a source's samples are like those that are there, and number its classes as theirs are."""
        old, new = self.manifest, source
        for what, here, there in (
            ("fields", sorted(old.fields), sorted(new.fields)),
            ("labels", old.labels, {column.name: str(column.type) for column in new.labels.schema}),
            ("classes", old.classes is not None, new.classes is not None),
        ):
            if here != there:
                raise UsageError(f"the {what} differ from the dataset's", file=self.where, got=there, expected=here)
        if old.classes is None or new.classes is None or "label" not in new.labels.column_names:
            return source
        added = [name for name in new.classes if name not in set(old.classes)]
        number = {name: position for position, name in enumerate((*old.classes, *added))}
        numbers = pa.array([number[name] for name in new.classes], pa.int64())
        labels = new.labels.set_column(
            new.labels.column_names.index("label"), "label", pc.take(numbers, new.labels.column("label"))
        )
        return replace(new, labels=labels, classes=tuple(number))

    def check_settings(self, settings: dict[str, Any]) -> None:
        """See that pictures are treated as those that are there were; order and shards may differ."""
        for name in sorted({*settings, *self.manifest.pack} - {"seed", "shard_bytes"}):
            asked, had = settings.get(name) or None, self.manifest.pack.get(name) or None
            if asked != had:
                hint = "say the options that the dataset was packed with: they are under `pack` in penstock.json"
                what = f"the dataset was packed with another {name}"
                raise UsageError(what, file=self.where, got=repr(asked), expected=repr(had), hint=hint)

    def new(self, source: Source, order: Sequence[int], *, leaves_out: bool) -> list[int]:
        """Give the positions of an order whose keys are not there yet; others are an error unless left out."""
        known = pc.is_in(pa.array(source.keys, pa.string()), value_set=self._index(["key"]).column("key"))
        is_known = known.to_pylist()
        found = [position for position in order if not is_known[position]]
        if len(found) < len(order) and not leaves_out:
            example = next(source.keys[position] for position in order if is_known[position])
            got = f"{len(order) - len(found)} of {len(order)}, such as {example}"
            hint = "add only the others with --remove-duplicates (remove_duplicates=True)"
            raise UsageError("samples with these keys are there already", file=self.where, got=got, hint=hint)
        return found

    def was_made_by(self, work: dict[str, Any]) -> bytes | None:
        """Give the journal's plan where it is of this work and done, so that only the journal is left to be removed.

        That is so where the manifest is not the one that was to be extended: nobody else replaces it meanwhile.
        """
        begun = plan_in(self.place) if is_unfinished(self.place) else None
        before = None if begun is None else extends(begun)
        is_done = before not in {None, self.digest} and begun == encode_plan(work, before)
        return begun if is_done else None

    def joined(self, rows: pa.Table) -> pa.Table:
        """Put new rows behind the old ones."""
        old = self._index()
        if set(old.column_names) != set(rows.column_names):
            got = sorted(set(old.column_names) ^ set(rows.column_names))
            raise UsageError("the dataset's index has other columns than packing writes", file=self.where, got=got)
        return pa.concat_tables([old, rows.select(old.column_names).cast(old.schema)])

    def manifest_with(self, new: Manifest) -> Manifest:
        """Give the manifest of both; `new` is that of the new samples, with the index of all."""
        old = self.manifest
        summaries = {name: _both(summary, new.fields[name]) for name, summary in old.fields.items()}
        said = new.provenance
        extension = {"samples": new.samples, "penstock": said["penstock"], "source": said["source"]}
        extension |= {name: new.pack[name] for name in ("seed", "shard_bytes")}
        before = old.provenance
        source = before.get("source", {})
        skipped = [*before.get("skipped", []), *said["skipped"]]
        return Manifest(
            samples=old.samples + new.samples,
            fields=summaries,
            labels=old.labels,
            classes=new.classes,
            index=new.index,
            shards=(*old.shards, *new.shards),
            pack=old.pack,
            provenance={
                **before,
                "source": {
                    **source,
                    **{name: source.get(name, 0) + said["source"][name] for name in ("files", "bytes")},
                },
                "outcomes": _sums(before.get("outcomes", {}), said["outcomes"]),
                "kept": _sums(before.get("kept", {}), said["kept"]),
                "skipped": list({json.dumps(item, sort_keys=True): item for item in skipped}.values()),
                "extensions": [*before.get("extensions", []), extension],
            },
        )

    def _index(self, columns: list[str] | None = None) -> pa.Table:
        entry = self.manifest.index
        data = self.place.read(entry.file)
        if data is None or sha256(data) != entry.sha256:
            file, got = f"{self.where}/{shown(entry.file)}", "nothing" if data is None else f"{len(data)} bytes"
            hint = "restore the file; `penstock verify` says what else is damaged"
            what = "the index is not the one that the manifest describes"
            raise FormatError(what, file=file, got=got, expected=f"{entry.bytes} bytes", hint=hint)
        return pq.read_table(pa.BufferReader(data), columns=columns)


def index_behind(name: str) -> str:
    """Name the index that takes another one's place."""
    match = INDEX_FILE.fullmatch(name)
    return f"index-{1 + int((match and match[1]) or 0)}.parquet"


def index_before(name: str) -> str:
    """Name the index whose place this one took."""
    match = INDEX_FILE.fullmatch(name)
    number = int((match and match[1]) or 0) - 1
    return f"index-{number}.parquet" if number > 0 else INDEX_NAME


def _both(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**old, "formats": _sums(old["formats"], new["formats"]), "bytes": old["bytes"] + new["bytes"]}


def _sums(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    return dict(sorted((Counter(old) + Counter(new)).items()))
