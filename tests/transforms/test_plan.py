"""The plan sorts transforms by where they run, and keeps what their order says."""

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.order import Draws
from penstock.transforms import (
    CenterCrop,
    Normalize,
    Plan,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
)
from tests.transforms.sizes import geometry_of


def draws_of(ids):
    return Draws.of(0, 0, ids)


WIDTHS = np.array([500, 320, 500], np.int32)
HEIGHTS = np.array([375, 480, 375], np.int32)


def test_transforms_are_sorted_into_geometry_and_values():
    plan = Plan(
        [RandomResizedCrop(224), RandomHorizontalFlip(), ToDtype("float32", scale=True), Normalize([0.5], [0.5])]
    )
    assert [type(one).__name__ for one in plan.geometric] == ["RandomResizedCrop", "RandomHorizontalFlip"]
    assert plan.values.dtype == "float32"
    assert plan.rest == ()


def test_the_usual_evaluation_crop_maps_back_into_the_source():
    geometry = geometry_of([Resize(256), CenterCrop(224)], [(512, 768)])
    # The frame is 256 x 384, so the crop begins at (16, 80); two source pixels make one of the frame's.
    assert geometry.regions.tolist() == [[32, 160, 480, 608]]
    assert geometry.clips.tolist() == [[0, 0, 512, 768]]


def test_a_random_crop_of_a_resized_picture_comes_straight_from_the_source():
    geometry = geometry_of([Resize(256), RandomResizedCrop(224)], [(512, 512)] * 50)
    assert (geometry.width, geometry.height) == (224, 224)
    assert (geometry.regions[:, 0] >= 0).all()
    assert (geometry.regions[:, 2] <= 512).all()


def test_adding_a_transform_at_the_end_leaves_the_earlier_draws_as_they_were():
    sizes = [(500, 375)] * 100
    alone = geometry_of(RandomResizedCrop(224), sizes)
    flipped = geometry_of([RandomResizedCrop(224), RandomHorizontalFlip()], sizes)
    assert np.array_equal(alone.regions, flipped.regions)


def test_geometry_depends_on_seed_epoch_and_sample_and_not_on_the_batch():
    plan = Plan([RandomResizedCrop(224), RandomHorizontalFlip()])
    ids = np.arange(300, dtype=np.int64)
    widths, heights = np.full(300, 640, np.int32), np.full(300, 480, np.int32)
    whole = plan.geometry(widths, heights, Draws.of(1, 2, ids))
    part = plan.geometry(widths[:7], heights[:7], Draws.of(1, 2, ids[200:207]))
    assert np.array_equal(whole.regions[200:207], part.regions)
    assert np.array_equal(whole.flips[200:207], part.flips)
    assert not np.array_equal(whole.regions, plan.geometry(widths, heights, Draws.of(1, 3, ids)).regions)


@pytest.mark.parametrize(
    ("transforms", "size"),
    [
        (RandomResizedCrop((10, 20)), (10, 20)),
        ([Resize(300), CenterCrop(224)], (224, 224)),
        ([Resize((30, 40))], (30, 40)),
        ([RandomCrop(64), RandomHorizontalFlip()], (64, 64)),
    ],
)
def test_the_output_size_is_known_beforehand(transforms, size):
    assert Plan(transforms).output_size(WIDTHS, HEIGHTS, draws_of) == size


def test_pictures_of_one_size_need_no_crop():
    assert Plan().output_size(WIDTHS[:1], HEIGHTS[:1], draws_of) == (375, 500)
    assert Plan(Resize(64)).output_size(WIDTHS[[0, 2]], HEIGHTS[[0, 2]], draws_of) == (64, 85)
    assert Plan().output_size(WIDTHS[:0], HEIGHTS[:0], draws_of) == (0, 0)


def test_pictures_of_several_sizes_are_refused_before_anything_is_read():
    with pytest.raises(UsageError, match="hint: end with a transform that fixes the size"):
        Plan(Resize(64)).output_size(WIDTHS, HEIGHTS, draws_of)


def test_values_may_stand_before_a_crop_that_cannot_pad():
    plan = Plan([ToDtype("float32", scale=True), RandomResizedCrop(224), Normalize([0.5], [0.5])])
    assert plan.values.factors == (1 / 255 / 0.5,)
    with pytest.raises(UsageError, match="may pad"):
        Plan([ToDtype("float32", scale=True), CenterCrop(224)])
