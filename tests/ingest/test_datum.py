"""Caffe's Datum: fields in any order, pixels turned into a picture, anything else refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.ingest.datum import read_datum
from tests import folders, lmdbs
from tests.unwrapping import damaged, is_read_or_refused


@given(st.binary(max_size=300), st.integers(-(2**31), 2**31 - 1))
def test_an_encoded_image_is_found_where_it_lies(image, label):
    data = lmdbs.datum(image, label)
    found = read_datum(data)
    assert (bytes(found.data), found.label, found.is_encoded) == (image, label, True)
    assert data[found.data.offset :][: len(image)] == image


def test_fields_come_in_any_order_and_unknown_ones_are_passed_over():
    unknown = b"\x4a\x03abc" + b"\x51" + bytes(8) + b"\x5d" + bytes(4)  # bytes, and numbers of fixed size
    found = read_datum(b"\x38\x01" + b"\x28\x07" + unknown + b"\x22\x02ab")
    assert (bytes(found.data), found.label, found.is_encoded) == (b"ab", 7, True)


def test_planes_become_pixels_red_first():
    planes = np.arange(24, dtype=np.uint8).reshape(3, 2, 4)
    pixels = read_datum(lmdbs.datum(planes.tobytes(), 0, (3, 2, 4))).pixels()
    assert pixels.shape == (2, 4, 3)
    assert pixels[1, 2].tolist() == [planes[2, 1, 2], planes[1, 1, 2], planes[0, 1, 2]]


@pytest.mark.parametrize(
    ("shape", "what"), [((2, 2, 6), "so many channels"), ((3, 2, 5), "not as many as"), ((3, 0, 4), "not as many as")]
)
def test_pixels_of_another_number_are_refused(shape, what):
    with pytest.raises(SourceError, match=what):
        read_datum(lmdbs.datum(bytes(24), 0, shape)).pixels()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "has no data"),
        (b"\x28\x01", "has no data"),
        (b"\x22\x05ab", "cut short"),
        (b"\x22", "does not end"),
        (b"\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "does not end"),
        (b"\x23", "no Datum"),
        (b"\x00\x01", "no Datum"),
        (b"\x35" + bytes(4) + b"\x22\x01a", "floating-point"),
        (b"\x32\x04" + bytes(4) + b"\x22\x01a", "floating-point"),
        (b"\x51\x00", "cut short"),
    ],
)
def test_what_is_no_picture_is_refused_with_the_reason(data, what):
    with pytest.raises(SourceError, match=what):
        read_datum(data)


@given(st.booleans(), st.data())
@settings(max_examples=300)
def test_damage_gives_a_message_or_our_error(is_encoded, data):
    whole = lmdbs.datum(folders.jpeg(), 3) if is_encoded else lmdbs.datum(bytes(60), 3, (3, 4, 5))
    assert is_read_or_refused(read_datum, damaged(whole, data.draw))
