"""Several datasets as one: their samples one after another, under one numbering and one list of classes.

A joined dataset is an index over the indexes of its parts; it copies nothing and reads what they read. What the parts
must have in common are their fields and labels. Classes are brought together by name: where the parts' lists differ,
numbers in `label` are those of the joined list.

How often each part comes is a matter of order: `Mixture` draws from the parts in given ratios, any other shuffle takes
all samples alike.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa

from penstock.dataset import Dataset
from penstock.errors import UsageError
from penstock.ingest.source import shown
from penstock.opening import dataset_of
from penstock.shard.index import numpy_of
from penstock.storage.files import JoinedFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["JoinedIndex", "join"]

LABEL = "label"  # the column that the list of classes is about


def join(datasets: Sequence[Dataset | str | os.PathLike[str]]) -> Dataset:
    """Join datasets, or those at paths, of the same fields and labels: all packed, or all folders as they are."""
    if isinstance(datasets, (str, bytes, os.PathLike)):  # a text has letters, which are no datasets
        raise UsageError("joining takes a list of datasets", got=repr(datasets), hint=f"[{datasets!r}, …]")
    return Dataset(JoinedIndex(tuple(dataset_of(dataset) for dataset in datasets)))


@final
class JoinedIndex:
    """The rows of several datasets, one after another."""

    def __init__(self, datasets: tuple[Dataset, ...]) -> None:
        if not datasets:
            raise UsageError("joining takes at least one dataset")
        first = datasets[0]
        for other in datasets[1:]:
            _check_alike(first, other)
        self._datasets = datasets
        self.classes, self._numbers = _joined_classes(datasets)
        self.path = " + ".join(dataset.path for dataset in datasets)
        self.digest = hashlib.sha256("".join(dataset.digest for dataset in datasets).encode()).hexdigest()
        self.skipped = tuple(skipped for dataset in datasets for skipped in dataset.skipped)
        self.lost = tuple(lost for dataset in datasets for lost in dataset.lost)
        self.fields, self.label_names = first.fields, first.label_names
        self.schema = pa.unify_schemas([dataset.schema for dataset in datasets], promote_options="permissive")
        self.parts = tuple(len(dataset) for dataset in datasets)
        self._first_file = np.cumsum([0, *(dataset.file_count for dataset in datasets)])
        self.stored = JoinedFiles([dataset.stored for dataset in datasets], self._first_file)
        self.file_count = int(self._first_file[-1])
        sizes = [dataset.file_bytes for dataset in datasets if dataset.file_bytes is not None]
        self.file_bytes: NDArray[np.int64] | None = np.concatenate(sizes) if sizes else None

    def __len__(self) -> int:
        return sum(self.parts)

    def files(self) -> NDArray[np.int32]:
        """Say for each row which file it lies in."""
        parts = [dataset.files() + first for dataset, first in zip(self._datasets, self._first_file, strict=False)]
        return np.concatenate(parts).astype(np.int32)

    def names(self, files: NDArray[np.int32]) -> list[str]:
        """Name files, each relative to its own dataset."""
        names = np.empty(len(files), object)
        for part, first, where in self.stored.by_part(files):
            names[where] = self._datasets[part].names(files[where] - first)
        return names.tolist()

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Give some of the columns."""
        tables = [dataset.columns(names) for dataset in self._datasets]
        if LABEL in names and self._numbers is not None:
            tables = [_renumbered(table, numbers) for table, numbers in zip(tables, self._numbers, strict=True)]
        return pa.concat_tables(tables, promote_options="permissive")

    def __reduce__(self) -> tuple[Any, ...]:
        return JoinedIndex, (self._datasets,)


def _check_alike(one: Dataset, other: Dataset) -> None:
    """See that two datasets can be joined."""
    for what, of_one, of_other in (
        ("fields", one.fields, other.fields),
        ("labels", one.label_names, other.label_names),
        ("kinds of labels", _kinds(one), _kinds(other)),
    ):
        if of_one != of_other:
            got = f"{of_one} in {shown(one.path)}, {of_other} in {shown(other.path)}"
            raise UsageError(f"datasets of different {what} cannot be joined", got=got)
    if _is_summed(one) != _is_summed(other) or (one.file_bytes is None) != (other.file_bytes is None):
        untouched = other if _is_summed(one) else one
        what = "a packed dataset, which has checksums, and untouched files, which have none, cannot be joined"
        raise UsageError(what, file=shown(untouched.path), hint="pack the files first")
    if (one.classes is None) != (other.classes is None):
        raise UsageError("a dataset with named classes and one without cannot be joined", file=shown(other.path))


def _is_summed(dataset: Dataset) -> bool:
    """Whether there are checksums."""
    return any(name.endswith(".crc32c") for name in dataset.schema.names)


def _kinds(dataset: Dataset) -> list[str]:
    """Name the kinds of a dataset's labels, numbers of any width being alike."""
    kinds = [dataset.schema.field(name).type for name in dataset.label_names]
    return ["integer" if pa.types.is_integer(kind) else str(kind) for kind in kinds]


def _joined_classes(datasets: Sequence[Dataset]) -> tuple[tuple[str, ...] | None, list[NDArray[np.int64]] | None]:
    """Give the joined list of classes, and each dataset's classes' numbers in it; None where all lists are the same."""
    lists = [dataset.classes for dataset in datasets]
    if lists[0] is None or len(set(lists)) == 1:
        return lists[0], None
    joined = tuple(sorted({name for names in lists if names is not None for name in names}))
    number = {name: at for at, name in enumerate(joined)}
    return joined, [np.array([number[name] for name in names or ()], np.int64) for names in lists]


def _renumbered(table: pa.Table, numbers: NDArray[np.int64]) -> pa.Table:
    """Give a table whose classes have these numbers."""
    at = table.schema.get_field_index(LABEL)
    return table.set_column(at, LABEL, pa.array(numbers[numpy_of(table.column(at))]))
