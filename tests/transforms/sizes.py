"""What the transform tests share: sizes, draws, and the crop that a geometry shows, in plain Python."""

import numpy as np
from hypothesis import strategies as st

from penstock.order import Draws
from penstock.transforms import Plan

SIDES = st.integers(1, 700)
SIZES = st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=30)


def draws_for(count, seed=0):
    return Draws.of(seed, 0, np.arange(count, dtype=np.int64))


def geometry_of(transforms, sizes, seed=0):
    widths, heights = np.array(sizes, np.int32).T
    return Plan(transforms).geometry(widths, heights, draws_for(len(sizes), seed))
