"""Raw images: headers checked, pixels found, checksums split."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import _native
from penstock.decode.array import HeaderBook, append_zeros, decode_array, probe_array
from penstock.errors import ImageError
from tests.images import photo


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def found_pixels(data, width, height, channels=3, before=b""):
    block = np.frombuffer(before + data, np.uint8)
    return HeaderBook(channels).pixels(
        block,
        np.array([len(before)]),
        np.array([len(data)]),
        np.array([width], np.int32),
        np.array([height], np.int32),
    )


def test_pixels_come_back_exactly():
    pixels = photo(23, 14)
    assert probe_array(npy(pixels)) == (23, 14, 3)
    assert np.array_equal(decode_array(npy(pixels)), pixels)
    assert probe_array(npy(pixels[:, :, 0])) == (23, 14, 1)


@given(st.binary(max_size=40), st.binary(max_size=300))
def test_checksums_of_parts_make_the_checksum_of_the_whole(first, second):
    assert append_zeros(_native.crc32c(first), len(second)) ^ _native.crc32c(second) == _native.crc32c(first + second)


def test_the_pixels_checksum_follows_from_that_of_the_file():
    data = npy(photo(23, 14))
    header_bytes, parts, errors = found_pixels(data, 23, 14, before=b"something else")
    assert errors == {}
    assert _native.crc32c(data[header_bytes[0] :]) == _native.crc32c(data) ^ int(parts[0])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (npy(photo(23, 14).astype(np.int16))[: 128 + 23 * 14 * 3], "no image"),
        (npy(np.asfortranarray(photo(23, 14))), "Fortran"),
        (npy(photo(14, 23)), "another shape"),
        (b"x" * (128 + 23 * 14 * 3), "not a .npy file"),
        (npy(photo(23, 14))[:-1], "header"),
        (npy(photo(23, 14)) + b"\0" * 5000, "beyond its pixels"),
        (b"short", "beyond its pixels"),
    ],
)
def test_a_header_that_is_not_what_the_index_says_is_an_error(data, words):
    _, _, errors = found_pixels(data, 23, 14)
    assert words in str(errors[0])


@pytest.mark.parametrize("array", [np.zeros((3, 4), np.float32), np.zeros(5, np.uint8), np.zeros((2, 2, 4), np.uint8)])
def test_arrays_that_are_no_images_are_refused(array):
    with pytest.raises(ImageError, match="no image"):
        decode_array(npy(array))


def test_a_raw_image_of_the_wrong_length_is_refused():
    with pytest.raises(ImageError, match="wrong length"):
        probe_array(npy(photo(23, 14))[:-5])
