"""Metas of GulpIO as bytes: what is written is read, and bytes of no item are counted."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.ingest.gulp_meta import GulpItem, decode_meta, encode_meta, filled_up, unclaimed_bytes

ROWS = st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 3), st.integers(4, 2**31 - 1)), min_size=1, max_size=5)
SAID = st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.booleans(), max_size=3)


@given(st.dictionaries(st.text(), st.tuples(ROWS, SAID), max_size=5))
def test_what_is_written_is_read(items):
    found = decode_meta(encode_meta(items))
    assert [name for name, _ in found] == list(items)
    for name, item in found:
        rows, said = items[name]
        assert isinstance(item, GulpItem)
        assert item.said == said
        assert item.start.tolist() == [start for start, _, _ in rows]
        assert item.length.tolist() == [length - zeros for _, zeros, length in rows]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
ROW = st.lists(st.integers(-5, 2**64), min_size=3, max_size=3)


@given(st.one_of(JSON, st.lists(ROW, max_size=3)), st.one_of(JSON, st.lists(SAID, max_size=2)))
def test_whatever_a_meta_says_an_item_is_taken_or_told_to_be_none(frames, said):
    ((_, item),) = decode_meta(json.dumps({"a": {"frame_info": frames, "meta_data": said}}).encode())
    if isinstance(item, GulpItem):
        assert 0 <= item.start.min() < item.stop < 2**63
    else:
        assert item


@given(st.binary(max_size=9))
def test_a_record_is_filled_up_to_a_multiple_of_four(data):
    record, zeros = filled_up(data)
    assert record == data + b"\0" * zeros
    assert len(record) % 4 == 0
    assert zeros < 4


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20), st.integers(0, 3)), max_size=6), st.integers(0, 80))
def test_bytes_of_no_item_are_counted(records, size):
    covered = set().union(*(range(start, start + length + zeros) for start, length, zeros in records))
    items = [GulpItem(*(np.array([number]) for number in record), {}) for record in records]
    assert unclaimed_bytes(items, size) == len(set(range(size)) - covered)


def test_the_example_of_the_formats_description_is_read():
    rows = [[0, 1, 4], [4, 2, 4], [8, 0, 4], [12, 1, 4], [16, 3, 4], [20, 1, 8]]
    meta = json.dumps({"0": {"frame_info": rows, "meta_data": [{"label": "a"}]}}).encode()
    ((name, item),) = decode_meta(meta)
    assert name == "0"
    assert item.length.tolist() == [3, 2, 4, 3, 1, 7]
    assert unclaimed_bytes([item], 28) == 0
