"""The slow twin is itself held to Pillow, so that what is held to the twin is held to Pillow."""

import numpy as np
import pytest
from PIL import Image
from tests.images import photo
from tests.native.reference import nearest, resample


@pytest.mark.parametrize(
    ("region", "size"),
    [
        ((10, 7, 110, 87), (33, 40)),
        ((3, 2, 20, 30), (64, 64)),
        ((0, 0, 150, 100), (224, 224)),
        ((12.25, 3.5, 99.75, 88.125), (40, 50)),
    ],
)
def test_the_twin_agrees_with_pillow_to_a_level(region, size):
    pixels = photo(150, 100)
    expected = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR, box=region))
    ours = resample(pixels, region, (0, 0, 150, 100), size)
    assert np.abs(ours - expected).max() <= 1.01  # Pillow rounds between its two passes


def test_a_clip_equal_to_the_region_is_a_crop_before_the_resize():
    pixels = photo(150, 100)
    box = (20, 10, 120, 90)
    expected = np.asarray(Image.fromarray(pixels).crop(box).resize((48, 56), Image.Resampling.BILINEAR))
    assert np.abs(resample(pixels, box, box, (48, 56)) - expected).max() <= 1.01


@pytest.mark.parametrize(
    ("region", "size"), [((10, 7, 110, 87), (33, 40)), ((3, 2, 20, 30), (64, 64)), ((0, 0, 150, 100), (75, 50))]
)
def test_nearest_agrees_with_pillow(region, size):
    pixels = photo(150, 100)
    expected = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST, box=region))
    assert np.array_equal(nearest(pixels, region, (0, 0, 150, 100), size), expected)
