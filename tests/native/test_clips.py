"""Frames of clips in one call: each in its place among the planes of its clip, and nowhere else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.images import cjpeg, jpeg, photo
from tests.native.calls import SENTINEL, decode

from penstock import _native

SIZE = (48, 40)


def images_of(kind, count):
    """Images that go each way through the decoder."""
    pixels = [photo(*SIZE, seed=at) for at in range(count)]
    return {
        "tiles": [cjpeg(one, options=["-restart", "1"]) for one in pixels],
        "same size": [cjpeg(one, sampling="4:4:4", options=["-restart", "1"]) for one in pixels],
        "progressive": [jpeg(one, progressive=True) for one in pixels],
        "grey": [cjpeg(one[..., 1]) for one in pixels],
        "pixels": pixels,
    }[kind]


@pytest.mark.parametrize("kind", ["tiles", "same size", "progressive", "grey", "pixels"])
@pytest.mark.parametrize("clip", [(0, 0, 48, 40), (5, 3, 25, 33)])
@pytest.mark.parametrize("threads", [0, 2])
def test_a_frame_has_the_pixels_of_the_same_image_alone(kind, clip, threads):
    images, pool = images_of(kind, 6), _native.Pool(threads)
    for size in ((20, 30), (17, 11)):
        options = {"clips": [clip] * 6, "flips": [0, 1, 0, 1, 1, 0], "size": size, "pool": pool}
        alone = decode(images, channels_first=True, **options)
        assert alone.status == {}
        for frames in (1, 2, 3, 6):
            found = decode(images, frames=frames, **options)
            assert found.status == {}
            assert np.array_equal(found.pixels, alone.pixels)
    pool.close()


@given(st.integers(1, 7), st.integers(1, 4), st.integers(0, 255))
def test_what_shows_the_outside_is_filled_and_other_slots_are_left_alone(count, frames, fill):
    outside = [(100.0, 100.0, 120.0, 120.0)] * count
    found = decode(images_of("pixels", count), frames=frames, regions=outside, size=(9, 7), fill=fill)
    assert (found.pixels[:count] == fill).all()
    assert (found.pixels[count:] == SENTINEL).all()


def test_a_broken_frame_leaves_the_others_as_they_are():
    images = images_of("tiles", 4)
    images[2] = images[2][:30]
    found = decode(images, frames=2, sizes=np.array([SIZE] * 4), size=(20, 20))
    assert list(found.status) == [2]
    whole = decode(images_of("tiles", 4), size=(20, 20), channels_first=True)
    for at in (0, 1, 3):
        assert np.array_equal(found.pixels[at], whole.pixels[at])


def test_shapes_that_cannot_be_are_refused():
    def call(out, count=0, **options):
        none, kinds = np.zeros(count, np.int64), np.full(count, _native.ABSENT, np.uint8)
        _native.Pool(0).decode_batch(
            np.zeros(1, np.uint8), none, none, kinds, np.zeros((count, 2), np.int32), np.zeros((count, 4)),
            np.zeros((count, 4), np.int32), np.zeros(count, np.uint8), out, **options,
        )  # fmt: skip

    call(np.zeros((1, 3, 2, 4, 4), np.uint8))
    for shape, options in (
        ((1, 3, 2, 4, 4), {"channels_first": False}),
        ((1, 3, 0, 4, 4), {}),
        ((3, 4, 4), {}),
        ((1, 1, 3, 2, 4, 4), {}),
        ((1, 2, 3, 4, 4), {}),
    ):
        with pytest.raises(ValueError, match=r"out must have|slot"):
            call(np.zeros(shape, np.uint8), **options)
    with pytest.raises(ValueError, match="a slot for every sample"):
        call(np.zeros((1, 3, 2, 4, 4), np.uint8), count=3)
