"""MessagePack with arrays: the same values as the real libraries', and bytes where they lie."""

import msgpack
import msgpack_numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.ingest.messagepack import read_messagepack
from tests.unwrapping import VALUES, blobs, damaged, is_read_or_refused, ordinary


def packed(value, **options):
    return msgpack.packb(value, default=msgpack_numpy.encode, **options)


@given(VALUES, st.booleans())
def test_values_are_those_of_the_real_libraries(value, single):
    data = packed(value, use_single_float=single)
    expected = msgpack.unpackb(data, object_hook=msgpack_numpy.decode, strict_map_key=False)
    found = read_messagepack(data)
    assert ordinary(found) == ordinary(expected)
    assert all(data[blob.offset : blob.offset + len(blob)] == bytes(blob) for blob in blobs(found))


@pytest.mark.parametrize("size", [0, 31, 32, 255, 256, 65535, 65536])
def test_lengths_are_read_in_every_form(size):
    for value in (b"x" * size, "x" * size, [1] * size, {str(number): number for number in range(size)}):
        assert ordinary(read_messagepack(packed(value))) == value


def test_the_old_format_has_text_alone_and_what_is_no_text_is_bytes():
    found = read_messagepack(packed([b"\xff\xd8image", b"text"], use_bin_type=False))
    assert (bytes(found[0]), found[0].offset, found[1]) == (b"\xff\xd8image", 2, "text")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "cut short"),
        (b"\xc6\xff\xff\xff\xff", "cut short"),
        (b"\xdd\xff\xff\xff\xff", "cut short"),
        (b"\x91" * 100 + b"\x01", "nested too deep"),
        (b"\x01\x01", "left over"),
        (msgpack.packb(msgpack.ExtType(4, b"code")), "an extension type, which is refused"),
        (b"\xc1", "an extension type, which is refused"),
        (msgpack.packb({b"nd": True, b"type": "O", b"shape": [1], b"data": b"x"}), "another kind than numbers"),
        (msgpack.packb({"nd": True, "type": "u1", "shape": [9], "data": b"x"}), "another number of bytes"),
        (b"\x81\x90\x01", "neither text nor a number"),
    ],
)
def test_what_is_no_plain_data_is_refused_with_the_reason(data, what):
    with pytest.raises(SourceError, match=what):
        read_messagepack(data)


@given(VALUES, st.data())
@settings(max_examples=300)
def test_damage_gives_a_value_or_our_error(value, data):
    assert is_read_or_refused(read_messagepack, damaged(packed(value), data.draw))


@given(st.binary(max_size=60))
@settings(max_examples=300)
def test_any_bytes_give_a_value_or_our_error(data):
    assert is_read_or_refused(read_messagepack, data)
