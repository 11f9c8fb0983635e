"""Labels of foreign records as a table: one row per sample, one column per name that a dataset can have.

Records name what they like. What is text or a number becomes a column; what is not (lists, objects, a name that is
taken) is left out, and said once. Whole numbers that some records lack become floating-point ones, NaN where they lack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import SourceError
from penstock.ingest.source import UNREADABLE, Skipped, shown
from penstock.storage.local import read_file, storage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["class_names", "label_table"]

_ALWAYS_TAKEN = frozenset({"key", "file"})


def label_table(rows: Sequence[dict[str, Any]], fields: Sequence[str]) -> tuple[pa.Table, list[Skipped]]:
    """Give the table, and what is left out of it. `fields` are the names of binary fields."""
    columns: dict[str, pa.Array] = {}
    left_out: list[Skipped] = []
    for name in dict.fromkeys(name for row in rows for name in row):
        found = _column(name, [row.get(name) for row in rows], {*fields, *_ALWAYS_TAKEN})
        if isinstance(found, str):
            left_out.append(Skipped(f"label {shown(name)}", UNREADABLE, found, is_expected=True))
        else:
            columns[name] = found
    if not columns:
        return pa.table({}), left_out
    return pa.table(columns), left_out


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


def class_names(path: str | None, labels: pa.Table) -> tuple[str, ...] | None:
    """Read a file that names one class per line, and see that every label is one of them."""
    if path is None:
        return None
    try:
        names = tuple(line.strip() for line in read_file(path).decode("utf-8-sig").splitlines() if line.strip())
    except OSError as error:
        raise storage_error(error, path) from error
    except UnicodeDecodeError as error:
        raise SourceError("the file is not text in UTF-8", file=shown(path), got=str(error)) from error
    if "label" not in labels.column_names or not pa.types.is_integer(labels.schema.field("label").type):
        raise SourceError("names of classes are given, but no sample has a number as its label", file=shown(path))
    found = labels.column("label").to_numpy()
    if len(found) and not 0 <= found.min() <= found.max() < len(names):
        got, expected = f"{found.min()} to {found.max()}", f"0 to {len(names) - 1}: the file has {len(names)} names"
        raise SourceError("labels that are no class", file=shown(path), got=got, expected=expected)
    return names
