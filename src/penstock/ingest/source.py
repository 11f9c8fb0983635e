"""A source: foreign data, listed. What there is to be packed or opened in place, before any of it is read.

A source is a value: files by field, keys, labels, and what was found but is no sample, with the reason. Its digest
changes when any listed file's name, size or modification time does, or any label; that is how a resumed pack and a
cached index know that they still speak of the same data.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import InternalError, SourceError, UsageError
from penstock.shard.keys import escape

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = [
    "BROKEN",
    "NOT_AN_IMAGE",
    "SKIPPED_OUTCOMES",
    "UNLABELLED",
    "UNREADABLE",
    "Files",
    "Skipped",
    "Source",
    "shown",
]

# Why a file is no sample.
NOT_AN_IMAGE = "not an image"
BROKEN = "broken"
UNREADABLE = "unreadable"
UNLABELLED = "unlabelled"
SKIPPED_OUTCOMES = frozenset({NOT_AN_IMAGE, BROKEN, UNREADABLE, UNLABELLED})


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not among the samples, and why."""

    name: str  # relative to the source, fit for printing
    outcome: str  # NOT_AN_IMAGE, BROKEN, UNREADABLE or UNLABELLED
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
class Files:
    """Files of one field, in the order of the samples."""

    root: str
    names: list[str]  # relative to the root; bytes that are not UTF-8 as lone surrogates
    sizes: NDArray[np.int64]
    mtimes_ns: NDArray[np.int64]
    suffixes: list[str]  # what each name has after what its key is made of

    def path(self, position: int) -> str:
        """Say where a file is."""
        return os.path.join(self.root, self.names[position])


@dataclass(frozen=True, slots=True)
class Source:
    """What a source holds: parallel lists, one entry per sample."""

    kind: str  # "image_folder", "labels_csv" or "flat_folder"
    fields: dict[str, Files]
    keys: list[str]
    labels: pa.Table
    classes: tuple[str, ...] | None
    skipped: tuple[Skipped, ...] = ()

    def __post_init__(self) -> None:
        for field, files in self.fields.items():
            if len(files.names) != len(self.keys):
                raise InternalError(f"the field {field} has {len(files.names)} files", expected=f"{len(self.keys)}")
        for name in self.labels.column_names:
            if "." in name or name in {"key", "file", *self.fields}:
                hint = "rename the column; names with a dot, 'key', 'file' and the fields' names are taken"
                raise UsageError("a label cannot have this name", got=repr(name), hint=hint)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def bytes(self) -> int:
        """Size of all files of all samples."""
        return sum(int(files.sizes.sum()) for files in self.fields.values())

    def sample_bytes(self, position: int) -> int:
        """Size of one sample's files."""
        return sum(int(files.sizes[position]) for files in self.fields.values())

    def label_values(self) -> dict[str, list[Any]]:
        """Give the labels as Python values: one list per label."""
        return {name: self.labels.column(name).to_pylist() for name in self.labels.column_names}

    def digest(self) -> str:
        """Identify what is listed: names, sizes, times, labels, classes."""
        found = hashlib.sha256(
            repr((self.kind, self.classes, self.labels.schema.names)).encode("utf-8", "surrogateescape")
        )
        for field, files in self.fields.items():
            found.update(f"{field} {len(files.names)} ".encode())
            found.update("\0".join(files.names).encode("utf-8", "surrogateescape"))
            found.update(files.sizes.tobytes())
            found.update(files.mtimes_ns.tobytes())
        for column in self.labels.columns:
            found.update(repr(column.to_pylist()).encode("utf-8", "surrogateescape"))
        return found.hexdigest()


def shown(name: str) -> str:
    """Make a file's name fit for printing and for JSON."""
    return escape(name)
