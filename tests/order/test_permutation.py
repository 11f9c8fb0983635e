"""The shuffle is a permutation, uniform, pinned, and needs no memory of the number of samples."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.order.permutation import MAX_SAMPLES, SORTED_SAMPLES, Permutation

SIZES = st.one_of(st.integers(0, 300), st.integers(SORTED_SAMPLES - 2, SORTED_SAMPLES + 5000))
KEYS = st.integers(-(2**70), 2**70)


@given(SIZES, KEYS)
def test_every_sample_comes_exactly_once(n, key):
    assert np.array_equal(np.sort(Permutation(n, key)[:]), np.arange(n))


@given(SIZES, KEYS, st.data())
def test_a_slice_is_that_part_of_the_whole(n, key, data):
    order = Permutation(n, key)
    start = data.draw(st.integers(0, n))
    stop = data.draw(st.integers(start, n))
    assert np.array_equal(order[start:stop], order[:][start:stop])


@given(SIZES.filter(bool), KEYS, st.data())
def test_ids_come_for_any_positions_in_any_order(n, key, data):
    order = Permutation(n, key)
    positions = np.array(data.draw(st.lists(st.integers(0, n - 1))), np.int64)
    assert np.array_equal(order.at(positions), order[:][positions])


@pytest.mark.parametrize("n", [10**6 + 3, 10**9, 2**40 + 1, MAX_SAMPLES])
def test_large_orders_stay_in_range_without_repeats(n):
    ids = Permutation(n, 5)[n - 20_000 : n]
    assert ids.min() >= 0
    assert ids.max() < n
    assert len(np.unique(ids)) == len(ids)


def test_squares_and_their_neighbours_lose_no_sample():
    for side in (257, 300):
        for n in (side * side - 1, side * side, side * side + 1, side * (side + 1), side * (side + 1) + 1):
            assert len(np.unique(Permutation(n, 1)[:])) == n


def test_a_billion_samples_start_in_little_memory():
    tracemalloc.start()
    Permutation(10**9, 3)[:1]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 100_000  # so nothing was computed for each sample


def test_small_orders_reach_every_permutation_equally_often():
    counts = dict.fromkeys(range(24), 0)
    names = {}
    for key in range(4800):
        order = tuple(Permutation(4, key)[:].tolist())
        counts[names.setdefault(order, len(names))] += 1
    chi_squared = sum((count - 200) ** 2 / 200 for count in counts.values())
    assert chi_squared < 49.7  # 23 degrees of freedom, exceeded once in a thousand


@pytest.mark.parametrize("n", [1000, 200_000])
def test_samples_land_anywhere_and_neighbours_part(n):
    order = Permutation(n, 11)[:]
    blocks = np.bincount(order[: n // 4] * 20 // n, minlength=20)  # where the first quarter of the epoch comes from
    expected = n / 80
    assert ((blocks - expected) ** 2 / expected).sum() < 43.8  # 19 degrees of freedom, once in a thousand
    steps = np.abs(np.diff(order))
    assert abs(steps.mean() - n / 3) < 5 * n / np.sqrt(18 * n)  # the distance of two independent samples
    assert np.corrcoef(np.arange(n), order)[0, 1] < 5 / np.sqrt(n)


def test_orders_of_neighbouring_keys_have_nothing_in_common():
    orders = [Permutation(100_000, key)[:] for key in range(4)]
    for one, other in pairwise(orders):
        assert (one == other).sum() < 12  # fixed points of a random permutation: Poisson with mean 1


def test_the_orders_are_pinned():
    assert Permutation(10, 0)[:].tolist() == PINNED_SMALL
    assert Permutation(10**6, 42)[:5].tolist() == PINNED_LARGE
    assert Permutation(2**48, -1)[:3].tolist() == PINNED_LARGEST


@pytest.mark.parametrize("n", [-1, MAX_SAMPLES + 1])
def test_impossible_sizes_are_refused(n):
    with pytest.raises(UsageError):
        Permutation(n, 0)


PINNED_SMALL = [8, 6, 9, 3, 4, 1, 2, 7, 0, 5]
PINNED_LARGE = [464957, 434339, 54947, 884944, 920593]
PINNED_LARGEST = [175322290085144, 234103257693704, 89701575794086]
