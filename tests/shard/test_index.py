"""The index: tables to Parquet and back to columns, the same bytes for the same rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import FormatError
from penstock.shard.index import (
    IndexRows,
    column_names,
    encode_index,
    fields_of,
    file_positions,
    labels_of,
    numpy_of,
    to_column,
)
from penstock.shard.sample import sample_bytes
from penstock.types import Record, StoredField

LABELS = pa.schema([("label", pa.int64()), ("note", pa.string()), ("tags", pa.list_(pa.string()))])


def rows(count, start=0, file="shards/000000.tar"):
    collected = IndexRows(("image", "mask"), LABELS)
    for number in range(start, start + count):
        fields = {
            "image": StoredField(b"x" * (number + 1), "jpeg", 10 + number, 20),
            "mask": StoredField(b"y", "png" if number % 2 else "npy", 10 + number, 20),
        }
        labels = {"label": number, "note": None if number % 3 else f"n{number}", "tags": ["a"] * (number % 3)}
        sample = sample_bytes(Record(f"k{number}", fields, labels), {"image": ".jpg", "mask": ".png"})
        collected.add(sample, file, 1000 * number)
    return collected.take()


def read_back(table):
    return pq.read_table(pa.BufferReader(encode_index(table)))


def test_rows_come_back_from_parquet():
    table = pa.concat_tables([rows(5), rows(4, 5, "shards/000001.tar")])
    again = read_back(table)
    assert again.to_pylist() == table.to_pylist()
    assert fields_of(again.schema) == ("image", "mask")
    assert labels_of(again.schema) == ("label", "note", "tags")
    positions = file_positions(again, ["shards/000000.tar", "shards/000001.tar"], "x")
    assert positions.tolist() == [0] * 5 + [1] * 4
    column = to_column(again.select(column_names("mask", again.schema)), "mask", positions, "x")
    assert [column.formats[code] for code in column.format] == ["npy", "png"] * 4 + ["npy"]
    assert column.width.tolist() == list(range(10, 19))
    # The mask follows the image's header, its data and their padding.
    assert column.offset.tolist() == [1000 * number + 512 + 512 + 512 for number in range(9)]


def test_the_same_rows_give_the_same_bytes_however_they_were_collected():
    whole = pa.concat_tables([rows(9)])
    parts = pa.concat_tables([rows(2), rows(3, 2), rows(4, 5)])
    assert bytes(encode_index(whole)) == bytes(encode_index(parts))


def test_a_file_that_the_manifest_does_not_list_is_refused():
    with pytest.raises(FormatError, match="does not list"):
        file_positions(rows(2), ["shards/other.tar"], "x")


def test_empty_numbers_and_negative_ranges_are_refused():
    with pytest.raises(FormatError, match="empty value"):
        numpy_of(pa.chunked_array([[1, None]]))
    table = rows(2)
    position = table.column_names.index("image.length")
    table = table.set_column(position, "image.length", pa.array([1, -1]))
    with pytest.raises(FormatError, match="negative"):
        to_column(table, "image", np.zeros(2, np.int32), "x")


def test_an_empty_index_is_an_index():
    again = read_back(rows(0))
    column = to_column(again, "image", file_positions(again, [], "x"), "x")
    assert (len(column), column.formats) == (0, ())


@pytest.mark.parametrize(("name", "values"), [("image.width", [1.5, 2.5]), ("image.offset", ["a", "b"])])
def test_a_column_of_another_type_is_refused(name, values):
    table = rows(2)
    table = table.set_column(table.column_names.index(name), name, pa.array(values))
    with pytest.raises(FormatError, match="another type"):
        to_column(table, "image", np.zeros(2, np.int32), "x")
