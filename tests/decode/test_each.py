"""Samples decoded one by one: each has its own shape, and otherwise the pixels that a batch would have given it."""

import os

import numpy as np
import pytest

from penstock.decode.batch import BatchDecoder, Encoded, Expected
from penstock.decode.each import EachDecoder
from penstock.errors import ChecksumError, ImageError, UsageError
from penstock.types import Column, Geometry
from tests.images import jpeg, photo, png

SIZES = [(48, 32), (20, 50), (33, 33)]
DATA = [jpeg(photo(*SIZES[0])), png(photo(*SIZES[1])), jpeg(photo(*SIZES[2]))]


def encoded(checksums=None):
    lengths = np.array([len(one) for one in DATA], np.int64)
    offsets = np.cumsum(lengths) - lengths
    width, height = np.array(SIZES, np.int32).T
    column = Column(
        file=np.zeros(3, np.int32),
        offset=offsets,
        length=lengths,
        crc32c=checksums,
        format=np.array([0, 1, 0], np.uint8),
        width=width,
        height=height,
        formats=("jpeg", "png"),
    )
    return Encoded(Expected.of(column, np.arange(3)), np.frombuffer(b"".join(DATA), np.uint8), offsets, lengths)


def whole(width, height, *, flip=0):
    box = np.array([[0, 0, width, height]])
    return Geometry(box.astype(np.float64), box.astype(np.int32), np.array([flip], np.uint8), width, height)


@pytest.fixture(params=[0, 3])
def decoder(request):
    made = EachDecoder(request.param, max_pixels=100_000)
    yield made
    made.close()


def test_each_sample_has_its_own_shape_and_the_pixels_that_a_batch_gives_it(decoder):
    geometries = [whole(*size, flip=1) for size in SIZES]
    batch = BatchDecoder(0)
    for layout, axes in (("CHW", (0, 1, 2)), ("HWC", (1, 2, 0))):
        pixels, decoded = decoder.decode(encoded(), geometries, layout=layout)
        assert decoded.errors == {}
        for at, one in enumerate(pixels):
            part, (width, height) = slice(at, at + 1), SIZES[at]
            alone = encoded().part(part)
            expected = np.empty((1, 3, height, width), np.uint8)
            batch.decode(alone, geometries[at], expected)
            assert np.array_equal(one, expected[0].transpose(axes))


def test_errors_stay_at_their_positions_and_samples_may_be_left_out(decoder):
    geometries = [whole(*size) for size in SIZES]
    pixels, decoded = decoder.decode(encoded(np.zeros(3, np.uint32)), geometries, leave_out={1})
    assert {at: type(error) for at, error in decoded.errors.items()} == {0: ChecksumError, 2: ChecksumError}
    assert len(pixels) == 3


def test_more_pixels_than_are_allowed_are_an_error_before_memory_is_asked_for(decoder):
    for width, height in ((10**6, 10**6), (10**5, 1)):
        geometries = [whole(*SIZES[0]), whole(width, height), whole(*SIZES[2])]
        _, decoded = decoder.decode(encoded(), geometries)
        assert [(at, type(error)) for at, error in decoded.errors.items()] == [(1, ImageError)]
        assert f"too many pixels: got {width}x{height}, expected at most" in str(decoded.errors[1])


def test_it_refuses_to_work_in_a_forked_child(decoder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(UsageError, match="child process"):
            decoder.decode(encoded(), [whole(*size) for size in SIZES])
        decoder.close()
    assert decoder.decode(encoded(), [whole(*size) for size in SIZES])[1].errors == {}
