"""Labels of foreign records as a table: one row per sample, one column per name that a dataset can have.

Records name what they like. What is text or a number becomes a column; what is not (lists, objects, a name that is
taken) is left out, and said once. Whole numbers that some records lack become floating-point ones, NaN where they lack.
A label that is neither a class's number nor its name, but a fraction or a yes or no, is called `target`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import UsageError
from penstock.ingest.label_table import with_classes
from penstock.ingest.source import UNREADABLE, Skipped, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["labels_of_records"]

_ALWAYS_TAKEN = frozenset({"key", "file"})


def labels_of_records(
    rows: Sequence[dict[str, Any]], fields: Sequence[str], path: str, names: str | None = None
) -> tuple[pa.Table, tuple[str, ...] | None, list[Skipped]]:
    """Give the table, the classes, and what is left out.

    `fields` are the names of binary fields, `names` is a file of class names: labels are positions among them. Without
    it labels that are text are numbered in sorted order.
    """
    columns: dict[str, pa.Array] = {}
    left_out: list[Skipped] = []
    for name in dict.fromkeys(name for row in rows for name in row):
        found = _column(name, [row.get(name) for row in rows], {*fields, *_ALWAYS_TAKEN})
        if isinstance(found, str):
            left_out.append(Skipped(f"label {shown(name)}", UNREADABLE, found, is_expected=True))
        else:
            columns[name] = found
    if "label" in columns and not _names_a_class(columns["label"].type) and "target" not in columns:
        columns["target"] = columns.pop("label")
    if names is not None and "label" not in columns:
        raise UsageError("class names are given, but the samples have no labels", file=shown(path), got=shown(names))
    labels, classes = with_classes(pa.table(columns), path, names)
    return labels, classes, left_out


def _names_a_class(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind))


def _column(name: str, values: list[Any], taken: set[str]) -> pa.Array | str:
    """Give one column, or why it is none."""
    if "." in name or name in taken or not name or shown(name) != name:
        return "no label can have this name"
    there = [value for value in values if value is not None]
    if not there:
        return "it has no value anywhere"
    kinds = {type(value) for value in there}
    found = _typed(values, kinds, is_whole=len(there) == len(values))
    return (
        f"its values are no plain ones: {', '.join(sorted(kind.__name__ for kind in kinds))}"
        if found is None
        else found
    )


def _typed(values: list[Any], kinds: set[type], *, is_whole: bool) -> pa.Array | None:
    """Give values of these types as a column; None where there is no type for them all."""
    if kinds == {str}:
        return pa.array([None if value is None else _encodable(value) for value in values], pa.string())
    if kinds == {bool} and is_whole:
        return pa.array(values, pa.bool_())
    if kinds == {int} and is_whole and all(-(2**63) <= value < 2**63 for value in values):
        return pa.array(values, pa.int64())
    if kinds <= {int, float} and all(abs(value) < 2**53 for value in values if type(value) is int):
        return pa.array([float("nan") if value is None else float(value) for value in values], pa.float64())
    return None


def _encodable(value: str) -> str:
    """Make text fit for UTF-8."""
    return value.encode("utf-8", "backslashreplace").decode()
