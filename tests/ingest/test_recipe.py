"""Recipes: sizes only shrink, and what contradicts itself is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.ingest.recipe import Recipe

SIDES = st.integers(1, 20_000)


def test_sizes_shrink_to_the_longest_side_and_never_below_a_pixel():
    assert Recipe(max_side=200).fitted(400, 300) == (200, 150)
    assert Recipe(max_side=200).fitted(300, 400) == (150, 200)
    assert Recipe(max_side=200).fitted(100, 100) == (100, 100)
    assert Recipe().fitted(100, 100) == (100, 100)
    assert Recipe(max_side=10).fitted(10_000, 1) == (10, 1)


def test_sizes_shrink_to_the_shorter_side():
    assert Recipe(short_side=150).fitted(400, 300) == (200, 150)
    assert Recipe(short_side=150).fitted(300, 400) == (150, 200)
    assert Recipe(short_side=150).fitted(1000, 100) == (1000, 100)


@given(SIDES, SIDES, SIDES)
def test_no_side_grows_and_the_one_that_decides_fits(width, height, limit):
    for recipe, decides in ((Recipe(max_side=limit), max), (Recipe(short_side=limit), min)):
        fitted = recipe.fitted(width, height)
        assert 1 <= fitted[0] <= width
        assert 1 <= fitted[1] <= height
        assert decides(fitted) <= limit or fitted == (width, height) or decides(fitted) == 1
        assert recipe.reencodes(width, height) == (fitted != (width, height))


@pytest.mark.parametrize(
    "options",
    [
        {"keep_bytes": True, "max_side": 5},
        {"keep_bytes": True, "short_side": 5},
        {"raw": True, "quality": 90},
        {"quality": 0},
        {"short_side": 0},
        {"max_side": 5, "short_side": 5},
    ],
)
def test_recipes_that_contradict_themselves_are_refused(options):
    with pytest.raises(UsageError):
        Recipe(**options)
