"""Crops against torchvision's rules, written out again one picture at a time in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.transforms import CenterCrop, RandomCrop, RandomResizedCrop
from tests.transforms.sizes import SIZES, draws_for, geometry_of


def central_crop(width, height, size):
    """(left, top) in the source of a central crop: pad what is missing, then cut what is too much."""
    left_padding = (size - width) // 2 if size > width else 0
    top_padding = (size - height) // 2 if size > height else 0
    left = round((max(width, size) - size) / 2.0)
    top = round((max(height, size) - size) / 2.0)
    return left - left_padding, top - top_padding


@given(SIZES, st.integers(1, 500))
def test_center_crop_pads_and_rounds_as_torchvision_does(sizes, size):
    geometry = geometry_of(CenterCrop(size), sizes)
    assert (geometry.width, geometry.height, geometry.fill) == (size, size, 0)
    for (width, height), region, clip in zip(sizes, geometry.regions, geometry.clips, strict=True):
        left, top = central_crop(width, height, size)
        assert region.tolist() == [left, top, left + size, top + size]
        assert clip.tolist() == [max(left, 0), max(top, 0), min(left + size, width), min(top + size, height)]


def one_resized_crop(width, height, uniform, scale, ratio):
    """RandomResizedCrop's tries and fallback for one picture, from its 22 draws."""
    for attempt in range(10):
        area = width * height * (scale[0] + uniform[2 * attempt] * (scale[1] - scale[0]))
        logarithm = math.log(ratio[0]) + uniform[2 * attempt + 1] * (math.log(ratio[1]) - math.log(ratio[0]))
        aspect = math.exp(logarithm)
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return math.floor(uniform[21] * (width - w + 1)), math.floor(uniform[20] * (height - h + 1)), w, h
    w, h = width, height
    if width / height < ratio[0]:
        h = min(max(round(width / ratio[0]), 1), height)
    elif width / height > ratio[1]:
        w = min(max(round(height * ratio[1]), 1), width)
    return (width - w) // 2, (height - h) // 2, w, h


@given(SIZES, st.integers(0, 5))
def test_random_resized_crop_tries_ten_times_and_falls_back_to_the_middle(sizes, seed):
    geometry = geometry_of(RandomResizedCrop((60, 80)), sizes, seed)
    assert (geometry.width, geometry.height) == (80, 60)
    uniform = draws_for(len(sizes), seed).uniform(22)
    for i, (width, height) in enumerate(sizes):
        left, top, w, h = one_resized_crop(width, height, uniform[i].tolist(), (0.08, 1.0), (3 / 4, 4 / 3))
        assert geometry.regions[i].tolist() == [left, top, left + w, top + h]
        assert geometry.clips[i].tolist() == [left, top, left + w, top + h]


def test_a_picture_far_too_wide_gets_the_central_crop():
    geometry = geometry_of(RandomResizedCrop(224, scale=(0.9, 1.0)), [(1000, 100), (100, 1000)])
    assert geometry.regions.tolist() == [[433, 0, 566, 100], [0, 433, 100, 566]]


def test_the_areas_and_ratios_of_random_crops_spread_as_they_should():
    sizes = [(400, 400)] * 20_000
    regions = geometry_of(RandomResizedCrop(224, scale=(0.1, 0.5)), sizes).regions
    widths, heights = regions[:, 2] - regions[:, 0], regions[:, 3] - regions[:, 1]
    areas = widths * heights / 160_000
    assert np.allclose(np.quantile(areas, [0.01, 0.5, 0.99]), [0.104, 0.3, 0.496], atol=0.01)
    assert np.allclose(np.quantile(widths / heights, [0.01, 0.5, 0.99]), [0.754, 1.0, 1.326], atol=0.03)
    shares = regions[:, 0] / np.maximum(400 - widths, 1)
    assert np.allclose(np.quantile(shares, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.02)


@given(SIZES, st.integers(1, 60), st.integers(0, 9))
def test_random_crop_lies_within_the_padded_picture(sizes, size, padding):
    assume(all(side + 2 * padding >= size for pair in sizes for side in pair))
    geometry = geometry_of(RandomCrop(size, padding=padding, fill=7), sizes)
    for (width, height), (x0, y0, x1, y1) in zip(sizes, geometry.regions, strict=True):
        assert x1 - x0 == size == y1 - y0
        assert -padding <= x0 <= x1 <= width + padding
        assert -padding <= y0 <= y1 <= height + padding
    assert geometry.fill == geometry.mask_fill == (7 if padding else 0)


def test_random_crop_takes_every_place_equally_often():
    lefts = geometry_of(RandomCrop(30, padding=[2, 0]), [(32, 32)] * 14_000).regions[:, 0]
    counts = np.bincount((lefts + 2).astype(int))
    assert len(counts) == 7  # 32 + 2 * 2 - 30 + 1 places
    assert ((counts - 2000) ** 2 / 2000).sum() < 22.5  # 6 degrees of freedom, once in a thousand


def test_pad_if_needed_pads_the_whole_missing_length_on_both_sides():
    lefts = geometry_of(RandomCrop(40, pad_if_needed=True), [(30, 40)] * 2000).regions[:, 0]
    assert lefts.min() == -10  # ten are missing, so ten are added on either side: 50 wide, eleven places
    assert lefts.max() == 0
    assert len(np.unique(lefts)) == 11


def test_four_paddings_are_left_top_right_bottom():
    regions = geometry_of(RandomCrop(10, padding=(5, 0, 0, 3)), [(10, 10)] * 500).regions
    assert (regions[:, 0].min(), regions[:, 0].max()) == (-5, 0)
    assert (regions[:, 1].min(), regions[:, 1].max()) == (0, 3)


def test_a_picture_smaller_than_its_random_crop_is_refused_with_a_hint():
    with pytest.raises(UsageError, match="pad_if_needed"):
        geometry_of(RandomCrop(40), [(50, 50), (30, 50)])


@pytest.mark.parametrize(
    "make",
    [
        lambda: CenterCrop(0),
        lambda: CenterCrop((1, 2, 3)),
        lambda: RandomCrop(8, padding=(1, 2, 3)),
        lambda: RandomCrop(8, padding=-1),
        lambda: RandomCrop(8, padding_mode="reflect"),
        lambda: RandomCrop(8, padding=1, fill=(1, 2, 3)),
        lambda: RandomResizedCrop(8, scale=(1, 0.5)),
        lambda: RandomResizedCrop(8, interpolation="bicubic"),
        lambda: RandomResizedCrop(8, antialias=False),
    ],
)
def test_arguments_that_cannot_be_are_refused(make):
    with pytest.raises(UsageError):
        make()


def test_the_fill_of_masks_can_be_another():
    class Mask:  # stands in for torchvision.tv_tensors.Mask
        pass

    for fill in ({"image": 3, "mask": 255}, {Mask: 255, "others": (3, 3, 3)}):
        geometry = geometry_of(RandomCrop(8, padding=4, fill=fill), [(8, 8)])
        assert (geometry.fill, geometry.mask_fill) == (3, 255)
