"""Window order: a permutation in which each lane keeps to its own windows, and each window to its own blocks."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.order.window import WindowOrder

KEYS = st.integers(-(2**70), 2**70)
ORDERS = st.builds(
    WindowOrder,
    st.integers(0, 3000),
    KEYS,
    lanes=st.integers(1, 24),
    window=st.integers(1, 200),
    block=st.integers(1, 90),
)


def whole(order):
    return order.at(np.arange(len(order)))


@given(ORDERS)
def test_every_sample_comes_exactly_once(order):
    assert np.array_equal(np.sort(whole(order)), np.arange(len(order)))


@given(ORDERS.filter(len), st.data())
def test_ids_come_for_any_positions_in_any_order(order, data):
    positions = np.array(data.draw(st.lists(st.integers(0, len(order) - 1))), np.int64)
    assert np.array_equal(order.at(positions), whole(order)[positions])


@given(ORDERS, st.data())
def test_a_rank_has_as_many_windows_as_its_positions_draw_from(order, data):
    world_size = data.draw(st.sampled_from([size for size in range(1, order.lanes + 1) if order.lanes % size == 0]))
    rank = data.draw(st.integers(0, world_size - 1))
    numbers, _ = order.windows(np.arange(rank, len(order), world_size))
    assert order.window_count(rank, world_size) == len(np.unique(numbers))


@given(ORDERS)
def test_windows_and_their_contents_are_the_same_order(order):
    positions = np.arange(len(order))
    numbers, rows = order.windows(positions)
    ids = whole(order)
    for number in np.unique(numbers).tolist():
        first, contents = order.contents(number)
        assert first == 0
        assert np.array_equal(contents[rows[numbers == number]], ids[numbers == number])
        assert len(contents) == (numbers == number).sum() <= order.window_samples


@given(ORDERS.filter(len), st.data())
def test_a_part_of_a_window_is_what_the_positions_of_that_part_draw(order, data):
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(order))] * 2)))
    numbers, rows = order.windows(np.arange(start, stop))
    ids = whole(order)[start:stop]
    for number in np.unique(numbers).tolist():
        first, contents = order.contents(number, start=start, stop=stop)
        assert first == rows[numbers == number][0]
        assert np.array_equal(contents, ids[numbers == number])


@given(ORDERS.filter(len))
def test_a_lane_opens_its_windows_one_after_another(order):
    positions = np.arange(len(order))
    numbers, rows = order.windows(positions)
    assert np.array_equal(numbers % order.lanes, positions % order.lanes)
    for lane in range(min(order.lanes, len(order))):
        of_lane, row = numbers[lane :: order.lanes] // order.lanes, rows[lane :: order.lanes]
        assert (np.diff(of_lane) >= 0).all()
        assert np.array_equal(row == 0, np.concatenate(([True], np.diff(of_lane) > 0)))


def test_a_window_draws_from_a_few_blocks_and_a_batch_from_all_lanes():
    order = WindowOrder(100_000, 3, lanes=8, window=500, block=100)
    numbers, _ = order.windows(np.arange(len(order)))
    ids = whole(order)
    assert all(len(np.unique(ids[numbers == number] // 100)) <= 7 for number in np.unique(numbers)[::50].tolist())
    assert len(np.unique(numbers[40_000:40_064])) == 8


def test_windows_end_one_by_one_in_the_order_in_which_they_were_begun():
    order = WindowOrder(64_000, 3, lanes=8, window=800, block=100)
    numbers, rows = order.windows(np.arange(32_000))
    begun = [int(number) for number in numbers[rows == 0]]
    last = {int(number): at for at, number in enumerate(numbers)}
    ends = [last[number] for number in begun if last[number] < 25_000]
    assert ends == sorted(ends)
    assert all(later - earlier > 700 for earlier, later in pairwise(ends))  # 800 positions apart, evenly


def test_neighbouring_epochs_have_nothing_in_common():
    one, other = (whole(WindowOrder(50_000, key, lanes=8, window=500, block=100)) for key in (1, 2))
    assert (one == other).sum() < 12


def test_a_billion_samples_start_in_little_memory():
    tracemalloc.start()
    WindowOrder(10**9, 3, lanes=16, window=150, block=40).at(np.arange(256))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1_000_000


def test_the_orders_are_pinned():
    order = WindowOrder(10**6, 42, lanes=16, window=150, block=40)
    assert order.at(np.array([0, 1, 2, 500_000, 999_999])).tolist() == PINNED
    assert whole(WindowOrder(11, 1, lanes=2, window=3, block=2)).tolist() == PINNED_SMALL


@pytest.mark.parametrize("options", [{"lanes": 0}, {"window": 0}, {"block": 0}, {"n": -1}])
def test_impossible_shapes_are_refused(options):
    with pytest.raises(UsageError):
        WindowOrder(**{"n": 10, "key": 0, "lanes": 1, "window": 1, "block": 1, **options})


PINNED = [719968, 697900, 345851, 964477, 461954]
PINNED_SMALL = [3, 10, 2, 8, 0, 9, 1, 5, 6, 4, 7]
