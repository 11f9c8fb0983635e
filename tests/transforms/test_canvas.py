"""Frames that move several times show what the pictures themselves would show, had they been cut and mirrored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.transforms.canvas import Canvas

MOVES = st.lists(
    st.one_of(
        st.just(("flip",)),
        st.tuples(st.just("crop"), st.integers(-9, 30), st.integers(-9, 30), st.integers(1, 40), st.integers(1, 40)),
    ),
    max_size=5,
)


def crop_picture(picture, left, top, width, height):
    out = np.zeros((height, width), picture.dtype)
    for y in range(height):
        for x in range(width):
            if 0 <= top + y < picture.shape[0] and 0 <= left + x < picture.shape[1]:
                out[y, x] = picture[top + y, left + x]
    return out


def shown(geometry, picture):
    """What a geometry without resampling shows: source pixel by pixel, fill 0 outside the clip."""
    x0, y0, _, _ = geometry.regions[0].astype(int)
    left, top, right, bottom = geometry.clips[0]
    out = np.zeros((geometry.height, geometry.width), picture.dtype)
    for y in range(geometry.height):
        for x in range(geometry.width):
            if left <= x0 + x < right and top <= y0 + y < bottom:
                out[y, x] = picture[y0 + y, x0 + x]
    return out[:, ::-1] if geometry.flips[0] else out


@given(MOVES, st.integers(1, 30), st.integers(1, 30))
def test_crops_and_flips_in_any_order_show_what_cutting_and_mirroring_shows(moves, width, height):
    picture = np.arange(1, width * height + 1).reshape(height, width)
    canvas = Canvas(np.array([width], np.int32), np.array([height], np.int32))
    expected = picture
    for move in moves:
        if move[0] == "flip":
            canvas.flip(np.array([True]))
            expected = expected[:, ::-1]
        else:
            left, top, w, h = move[1:]
            canvas.crop(np.array([left]), np.array([top]), w, h)
            expected = crop_picture(expected, left, top, w, h)
    assert np.array_equal(shown(canvas.geometry(), picture), expected)


def test_a_crop_before_a_resize_hides_what_lies_outside_it():
    canvas = Canvas(np.array([100], np.int32), np.array([80], np.int32))
    canvas.crop(np.array([10]), np.array([20]), 50, 40)
    canvas.resize(25, 20)
    geometry = canvas.geometry()
    assert geometry.regions.tolist() == [[10, 20, 60, 60]]
    assert geometry.clips.tolist() == [[10, 20, 60, 60]]
    assert (geometry.width, geometry.height) == (25, 20)


def test_a_crop_after_a_resize_still_sees_what_lies_outside_it():
    canvas = Canvas(np.array([100], np.int32), np.array([80], np.int32))
    canvas.resize(50, 20)
    canvas.crop(np.array([5]), np.array([-2]), 10, 8)
    geometry = canvas.geometry()
    assert geometry.regions.tolist() == [[10, -8, 30, 24]]
    assert geometry.clips.tolist() == [[0, 0, 100, 80]]


def test_a_mirrored_frame_is_cropped_from_the_other_side_after_a_resize_too():
    canvas = Canvas(np.array([100], np.int32), np.array([80], np.int32))
    canvas.resize(50, 40)
    canvas.flip(np.array([True]))
    canvas.crop(np.array([0]), np.array([0]), 10, 40)
    assert canvas.geometry().regions.tolist() == [[80, 0, 100, 80]]


def test_a_frame_that_has_left_the_picture_shows_fill_alone():
    canvas = Canvas(np.array([10], np.int32), np.array([10], np.int32))
    canvas.crop(np.array([20]), np.array([0]), 5, 5)
    x0, _, x1, _ = canvas.geometry().clips[0]
    assert x0 == x1 == 10


def test_frames_of_different_sizes_make_no_batch():
    canvas = Canvas(np.array([10, 12], np.int32), np.array([10, 10], np.int32))
    with pytest.raises(UsageError, match="10x10 and 12x10"):
        canvas.geometry()


def test_two_different_fills_are_refused():
    canvas = Canvas(np.array([10], np.int32), np.array([10], np.int32))
    canvas.fill(1, 2)
    with pytest.raises(UsageError, match="pad with different values"):
        canvas.fill(1, 3)
