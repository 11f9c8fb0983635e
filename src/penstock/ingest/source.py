"""A source: foreign data, listed. What there is to be packed or opened in place, before any of it is read.

A source is a value: items by field (items.py), keys, labels, and what was found but is no sample, with the reason. Its
digest changes when any listed item does, or any label; that is how a resumed pack and a cached index know that they
still speak of the same data.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import InternalError, SourceError, UsageError
from penstock.shard.keys import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.ingest.items import Items

__all__ = [
    "BROKEN",
    "NOT_AN_IMAGE",
    "NOT_A_VIDEO",
    "SKIPPED_OUTCOMES",
    "UNLABELLED",
    "UNREADABLE",
    "Skipped",
    "Source",
    "shown",
]

# Why a file is no sample.
NOT_AN_IMAGE = "not an image"
NOT_A_VIDEO = "not a video"
BROKEN = "broken"
UNREADABLE = "unreadable"
UNLABELLED = "unlabelled"
SKIPPED_OUTCOMES = frozenset({NOT_AN_IMAGE, NOT_A_VIDEO, BROKEN, UNREADABLE, UNLABELLED})


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not among the samples, and why."""

    name: str  # relative to the source, fit for printing
    outcome: str  # one of SKIPPED_OUTCOMES
    why: str
    is_expected: bool = False  # it was never meant to be a sample (a README, a hidden file), so no run stops at it

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome}: {self.why}"

    def as_dict(self) -> dict[str, Any]:
        """Give the fields, for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(item: dict[str, Any]) -> Skipped:
        """Read what `as_dict` gave, whatever else it holds by now."""
        name, outcome, why = (str(item.get(part, "")) for part in ("name", "outcome", "why"))
        return Skipped(name, outcome, why, is_expected=bool(item.get("is_expected")))

    def error(self) -> SourceError:
        """Say it as an error, for whoever wants to stop at it."""
        hint = "mend or remove the file, or leave out such files with --on-error skip (on_error='skip')"
        return SourceError(f"{self.outcome}: {self.why}", file=self.name, hint=hint)


@dataclass(frozen=True, slots=True)
class Source:
    """What a source holds: parallel lists, one entry per sample."""

    kind: str  # which adapter listed it
    fields: Mapping[str, Items]
    keys: list[str]
    labels: pa.Table
    classes: tuple[str, ...] | None
    skipped: tuple[Skipped, ...] = ()
    made: frozenset[str] = frozenset()  # fields whose pictures are made by the recipe when they are read: videos

    def __post_init__(self) -> None:
        for field, items in self.fields.items():
            if len(items) != len(self.keys):
                raise InternalError(f"the field {field} has {len(items)} items", expected=f"{len(self.keys)}")
        for name in self.labels.column_names:
            if "." in name or name in {"key", "file", *self.fields}:
                hint = "rename the column; names with a dot, 'key', 'file' and the fields' names are taken"
                raise UsageError("a label cannot have this name", got=repr(name), hint=hint)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def bytes(self) -> int:
        """Size of all items of all samples."""
        return sum(int(items.sizes.sum()) for items in self.fields.values())

    @property
    def is_far(self) -> bool:
        """Whether reading it is mostly waiting."""
        return any(items.is_far for items in self.fields.values())

    def label_values(self, positions: Sequence[int] | None = None) -> dict[str, list[Any]]:
        """Give the labels of some samples, or of all, as Python values: one list per label."""
        columns = {name: self.labels.column(name) for name in self.labels.column_names}
        if positions is not None:
            where = pa.array(positions, pa.int64())
            columns = {name: column.take(where) for name, column in columns.items()}
        return {name: column.to_pylist() for name, column in columns.items()}

    def digest(self) -> str:
        """Identify what is listed: items, labels, classes."""
        found = hashlib.sha256(
            repr((self.kind, self.classes, self.labels.schema.names)).encode("utf-8", "surrogateescape")
        )
        for field, items in self.fields.items():
            found.update(f"{field} {len(items)} ".encode())
            for part in items.identity():
                found.update(part)
        for column in self.labels.columns:
            found.update(repr(column.to_pylist()).encode("utf-8", "surrogateescape"))
        return found.hexdigest()


def shown(name: str) -> str:
    """Make a file's name fit for printing and for JSON."""
    return escape(name)
