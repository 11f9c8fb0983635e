"""Resize's size rules against torchvision's, written out in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.transforms import Resize
from penstock.transforms.canvas import Canvas
from tests.transforms.sizes import SIZES, draws_for


def resized(transform, sizes):
    canvas = Canvas(*np.array(sizes, np.int32).T)
    transform.move(canvas, draws_for(len(sizes)))
    return list(zip(canvas.widths.tolist(), canvas.heights.tolist(), strict=True))


def expected(width, height, size, max_size):
    short, long = min(width, height), max(width, height)
    if size is None:
        new_short, new_long = max(int(max_size * short / long), 1), max_size
    else:
        new_short, new_long = size, int(size * long / short)
        if max_size is not None and new_long > max_size:
            new_short, new_long = max(int(max_size * new_short / new_long), 1), max_size
    return (new_short, new_long) if width <= height else (new_long, new_short)


@given(SIZES, st.integers(1, 500), st.one_of(st.none(), st.integers(1, 100)))
def test_the_shorter_side_gets_the_size_within_the_limit(sizes, size, spare):
    max_size = None if spare is None else size + spare
    for argument in (size, [size]):
        assert resized(Resize(argument, max_size=max_size), sizes) == [expected(w, h, size, max_size) for w, h in sizes]


@given(SIZES, st.integers(1, 500))
def test_without_a_size_the_longer_side_gets_the_limit(sizes, max_size):
    assert resized(Resize(None, max_size=max_size), sizes) == [expected(w, h, None, max_size) for w, h in sizes]


def test_two_sizes_are_height_and_width():
    assert resized(Resize((10, 20)), [(500, 400)]) == [(20, 10)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Resize(None),
        lambda: Resize(0),
        lambda: Resize(20, max_size=20),
        lambda: Resize((20, 30), max_size=50),
        lambda: Resize(20, interpolation="nearest"),
        lambda: Resize(20, antialias=False),
    ],
)
def test_arguments_that_cannot_be_are_refused(make):
    with pytest.raises(UsageError):
        make()
