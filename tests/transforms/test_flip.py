"""RandomHorizontalFlip."""

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.transforms import RandomHorizontalFlip
from tests.transforms.sizes import geometry_of


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_the_share_of_mirrored_pictures_is_p(p):
    flips = geometry_of(RandomHorizontalFlip(p), [(5, 5)] * 10_000).flips
    assert abs(flips.mean() - p) < 0.02
    assert flips.dtype == np.uint8


def test_half_are_mirrored_by_default_and_twice_half_is_half():
    assert (
        abs(geometry_of([RandomHorizontalFlip(), RandomHorizontalFlip()], [(5, 5)] * 10_000).flips.mean() - 0.5) < 0.02
    )


def test_a_probability_lies_between_zero_and_one():
    with pytest.raises(UsageError):
        RandomHorizontalFlip(1.5)
