"""Tables of labels: read from CSV with the types that their values show, and their classes numbered."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from penstock.errors import SourceError, UsageError
from penstock.ingest.csv_20bn import classes_of
from penstock.ingest.source import shown
from penstock.storage.local import storage_error

__all__ = ["is_label", "read_csv", "with_classes", "with_label"]


def read_csv(path: str, file_columns: tuple[str, ...]) -> tuple[pa.Table, str]:
    """Read CSV, and find the column that names files: text, however much it looks like numbers."""
    # Only an empty value is missing: pyarrow's list of such words would turn a class "NA" into none.
    rules = {"null_values": [""], "strings_can_be_null": True}
    try:
        with pyarrow.csv.open_csv(path) as reader:
            names = reader.schema.names
        doubled = sorted(name for name, count in Counter(names).items() if count > 1)
        if doubled:
            raise SourceError("two columns have one name", file=shown(path), got=repr(doubled[0]))
        which = next((name for name in file_columns if name in names), names[0])
        options = pyarrow.csv.ConvertOptions(column_types={which: pa.string()}, **rules)
        table = pyarrow.csv.read_csv(path, convert_options=options)
    except OSError as error:
        raise storage_error(error, path) from error
    except pa.ArrowInvalid as error:
        raise SourceError(
            f"the labels cannot be read: {error}", file=shown(path), expected="CSV with a header"
        ) from error
    if table.column(which).null_count:
        raise SourceError(f"{table.column(which).null_count} rows name no image", file=shown(path))
    return table, which


def with_classes(labels: pa.Table, path: str, names: str | None = None) -> tuple[pa.Table, tuple[str, ...] | None]:
    """Give numbers for the values of a text column named `label`; refuse numbers that are missing.

    Classes are numbered in sorted order, or in that of a file of names; there, whole numbers are positions already.
    """
    for name in labels.column_names:
        column = labels.column(name)
        if column.null_count and (name == "label" or not pa.types.is_string(column.type)):
            raise SourceError(
                f"{column.null_count} rows have no {name}", file=shown(path), expected="a value in every row"
            )
    if "label" not in labels.column_names:
        return labels, None
    column = labels.column("label")
    if pa.types.is_integer(column.type):
        numbers, classes = column.cast(pa.int64()), None if names is None else _range_of(column, names, path)
    elif pa.types.is_string(column.type):
        found, classes = classes_of(column.to_pylist(), names, path)
        numbers = pa.array(found, pa.int64())
    else:
        hint = "name the column otherwise to keep its values as they are"
        raise UsageError(
            "the column label must hold class names or whole numbers", file=path, got=column.type, hint=hint
        )
    return labels.set_column(labels.column_names.index("label"), "label", numbers), classes


def _range_of(numbers: pa.ChunkedArray, names: str, path: str) -> tuple[str, ...]:
    """Read class names that numbers are positions among."""
    _, classes = classes_of([], names, path)
    assert classes is not None
    least, most = (int(value.as_py() or 0) for value in pc.min_max(numbers).values())
    if least < 0 or most >= len(classes):
        expected = f"0 to {len(classes) - 1}, as {shown(names)} has {len(classes)} classes"
        raise SourceError("labels that are no class", file=shown(path), got=f"{least} to {most}", expected=expected)
    return classes


def with_label(table: pa.Table, label_name: str | None, path: str) -> pa.Table:
    """Take a column for the label, and see that all can be labels: single values, or lists of them.

    Texts are text from then on, however they were stored.
    """
    if label_name is not None and label_name not in table.column_names:
        expected = ", ".join(table.column_names) or "a table with other columns"
        raise UsageError("no such column", file=shown(path), got=repr(label_name), expected=expected)
    if label_name not in {None, "label"} and "label" in table.column_names:
        what, hint = "there is a column `label` already", "leave --label-name out, or rename the column"
        raise UsageError(what, file=shown(path), got=f"label_name={label_name!r}", hint=hint)
    names = ["label" if name == label_name else name for name in table.column_names]
    table = table.rename_columns(names)
    for at, name in enumerate(names):
        column = table.column(name)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            table = table.set_column(at, name, column.cast(pa.string()))
        elif not is_label(kind):
            hint = "leave the column out of the table"
            raise SourceError("a column cannot be a label", file=shown(path), got=f"{name}: {column.type}", hint=hint)
    return table


def is_label(kind: pa.DataType) -> bool:
    """Whether values of a type can be labels."""
    if pa.types.is_list(kind):
        return is_label(kind.value_type) and not pa.types.is_list(kind.value_type)
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string, pa.types.is_temporal)
    return any(check(kind) for check in checks)
