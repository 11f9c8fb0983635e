"""Labels of foreign records: the types of their columns, and what cannot be one."""

import math

import pytest

from penstock.errors import SourceError, UsageError
from penstock.ingest.record_labels import labels_of_records


def columns(*rows, fields=("image",)):
    table, _, left_out = labels_of_records(rows, fields, "x")
    return table.to_pydict(), [str(one) for one in left_out]


@pytest.mark.parametrize(
    ("values", "type_"),
    [([1, -2], "int64"), ([1, 2.5], "double"), ([True, False], "bool"), (["a", None], "string"), ([2**62, 1], "int64")],
)
def test_values_keep_what_they_are(values, type_):
    table, classes, left_out = labels_of_records([{"x": value} for value in values], ("image",), "x")
    assert (str(table.schema.field("x").type), table.to_pydict(), classes, left_out) == (type_, {"x": values}, None, [])


def test_numbers_that_some_lack_are_nan_there():
    found, left_out = columns({"x": 1}, {}, {"x": None})
    assert (found["x"][0], [math.isnan(one) for one in found["x"][1:]], left_out) == (1.0, [True, True], [])


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("box", [[1, 2], [3]], "its values are no plain ones: list"),
        ("mixed", [1, "one"], "its values are no plain ones: int, str"),
        ("sometimes", [True, None], "its values are no plain ones: bool"),
        ("huge", [2**70, 1], "its values are no plain ones: int"),
        ("none", [None, None], "it has no value anywhere"),
        ("key", [1, 2], "no label can have this name"),
        ("image", [1, 2], "no label can have this name"),
        ("a.b", [1, 2], "no label can have this name"),
    ],
)
def test_what_can_be_no_column_is_left_out_and_said(name, values, why):
    found, left_out = columns(*({name: value, "ok": 1} for value in values))
    assert (found, left_out) == ({"ok": [1, 1]}, [f"label {name}: unreadable: {why}"])


def test_class_names_need_labels_and_hold_for_all(tmp_path):
    names = tmp_path / "names"
    names.write_text("cat\ndog\n")
    table, classes, _ = labels_of_records([{"label": 1}, {"label": 0}], ("image",), "x", str(names))
    assert (table.to_pydict(), classes) == ({"label": [1, 0]}, ("cat", "dog"))
    with pytest.raises(SourceError, match="labels that are no class"):
        labels_of_records([{"label": 2}], ("image",), "x", str(names))
    with pytest.raises(UsageError, match="the samples have no labels"):
        labels_of_records([{"other": 2}], ("image",), "x", str(names))
