"""Quality: exact where everything can be counted, near it where not, and the worse the less an order mixes."""

import tracemalloc
from itertools import combinations, groupby, pairwise
from typing import final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.order import Extent, FullShuffle, InStorageOrder, Permutation, Sequential, WindowOrder, WindowShuffle
from penstock.order.quality import Classes, Excerpt, Quality, uniform_quality

SMALL = st.builds(
    WindowOrder,
    st.integers(1, 40).map(lambda batches: batches * 24),
    st.integers(0, 2**60),
    lanes=st.sampled_from([1, 3, 6]),
    window=st.integers(1, 60),
    block=st.integers(1, 50),
)


def quality(order, *, block=10, classes=10, batch_size=24, world_size=1, **options):
    excerpt = Excerpt.of(order, batch_size=batch_size, world_size=world_size, **options)
    return excerpt.quality(block=block, classes=Classes.sorted(len(order), classes))


def counted(order, *, block, labels, batch_size, world_size):
    """The same in plain Python, sample by sample."""
    ids = order.at(np.arange(len(order))).tolist()
    ranks = [ids[rank::world_size] for rank in range(world_size)]
    batches = [one[at : at + batch_size] for one in ranks for at in range(0, len(one), batch_size)]
    pairs = [one // block == other // block for batch in batches for one, other in combinations(batch, 2)]
    changes = [labels[one] != labels[other] for rank in ranks for one, other in pairwise(rank)]
    samples = len(ids) / world_size
    return Quality(
        displacement=np.mean([abs(id_ - at) for at, id_ in enumerate(ids)]) / len(ids),
        same_block=np.mean(pairs) if pairs else 0.0,
        class_run=samples / (1 + (samples - 1) * np.mean(changes)) if changes else 1.0,
        classes_seen=np.mean([len({labels[id_] for id_ in batch}) for batch in batches]),
    )


def values(of):
    return [of.displacement, of.same_block, of.class_run, of.classes_seen]


@given(SMALL, st.sampled_from([(24, 1), (8, 3), (1, 6), (2, 1)]), st.integers(1, 60), st.integers(1, 9))
def test_a_small_order_is_counted_exactly(order, share, block, classes):
    batch_size, world_size = share
    labels = np.random.default_rng(len(order)).integers(0, classes, len(order))
    excerpt = Excerpt.of(order, batch_size=batch_size, world_size=world_size)
    found = excerpt.quality(block=block, classes=Classes.labelled(labels))
    expected = counted(order, block=block, labels=labels.tolist(), batch_size=batch_size, world_size=world_size)
    assert excerpt.is_whole
    assert values(found) == pytest.approx(values(expected))


def test_a_run_is_a_run_of_one_class_on_a_rank():
    labels = [0, 0, 1, 1, 1, 1, 2, 0]
    found = Excerpt.of(Sequential(8), batch_size=4).quality(block=1, classes=Classes.labelled(np.array(labels)))
    assert found.class_run == pytest.approx(8 / len(list(groupby(labels))))


def test_the_order_of_storage_has_nothing_of_a_shuffle():
    assert values(quality(Sequential(2400), batch_size=10)) == pytest.approx([0, 1, 240, 1])
    assert values(quality(Sequential(2400), batch_size=10, block=5)) == pytest.approx([0, 4 / 9, 240, 1])


def test_runs_longer_than_an_excerpt_are_found_all_the_same():
    assert quality(Sequential(10**9), classes=1000).class_run == pytest.approx(10**6, rel=0.1)
    assert quality(Sequential(10**9), classes=1000, world_size=8).class_run == pytest.approx(10**6 / 8, rel=0.1)
    assert quality(Sequential(10**9), classes=1).class_run == pytest.approx(10**9)


@pytest.mark.parametrize("world_size", [1, 16])
@pytest.mark.parametrize("n", [1000, 300_000])
def test_a_uniform_shuffle_is_worth_what_is_said_of_it(n, world_size):
    uniform = uniform_quality(n, block=n // 50, classes=Classes.sorted(n, 7), batch_size=20, world_size=world_size)
    ways = {"block": n // 50, "classes": 7, "batch_size": 20, "world_size": world_size, "samples": 2**17}
    found = [values(quality(Permutation(n, key), **ways)) for key in range(30)]
    assert np.mean(found, axis=0) == pytest.approx(values(uniform), rel=0.03)


def test_the_worth_of_a_uniform_shuffle_is_the_mean_over_all_orders():
    """Five samples in blocks of two, the last one alone; classes of three and two; batches of three."""
    classes = Classes.labelled(np.array([4, 4, 9, 9, 9]))
    uniform = uniform_quality(5, block=2, classes=classes, batch_size=3)
    triples = [set(triple) for triple in combinations(range(5), 3)]
    assert uniform.same_block == pytest.approx(2 / 10)
    assert uniform.classes_seen == pytest.approx(np.mean([1 + (triple != {2, 3, 4}) for triple in triples]))
    assert uniform.displacement == pytest.approx(np.mean([abs(i - j) for i in range(5) for j in range(5)]) / 5)
    assert uniform.class_run == pytest.approx(5 / (1 + 4 * (1 - 4 / 10)))


def test_one_window_over_everything_is_uniform():
    order = WindowOrder(100_000, 5, lanes=1, window=100_000, block=400)
    uniform = uniform_quality(100_000, block=400, classes=Classes.sorted(100_000, 10), batch_size=100)
    found = quality(order, block=400, batch_size=100, samples=10**6)
    assert values(found) == pytest.approx(values(uniform), rel=0.03)


def test_windows_of_one_sample_leave_blocks_as_they_are():
    found = quality(WindowOrder(12_000, 5, lanes=1, window=1, block=120), block=120, classes=100)
    assert found.same_block == pytest.approx(1)
    assert found.class_run == pytest.approx(120)
    assert found.displacement == pytest.approx(1 / 3, rel=0.2)  # a hundred blocks, anywhere


def test_larger_windows_and_more_lanes_of_them_are_worth_more():
    def worth(lanes, window):
        found = quality(WindowOrder(10**6, 5, lanes=lanes, window=window, block=40), block=40, batch_size=256)
        return found.same_block

    assert worth(4, 100) > 1.5 * worth(4, 400) > 2 * worth(4, 1600)
    assert worth(1, 400) > 1.5 * worth(4, 400) > 2 * worth(16, 400)
    # How likely two samples come from one of the blocks in the windows: one of 16 lanes, one of 10 blocks.
    assert worth(16, 400) == pytest.approx(1 / 160, rel=0.2)


def test_a_rank_with_a_single_lane_sees_less_than_all_ranks_together():
    order = WindowOrder(10**6, 5, lanes=8, window=200, block=40)
    rank = quality(order, block=40, classes=1000, batch_size=32, world_size=8)
    ranks = quality(order, block=40, classes=1000, batch_size=256)
    assert rank.same_block > 5 * ranks.same_block
    assert rank.class_run > 1.1 > ranks.class_run
    assert rank.classes_seen < 20 < ranks.classes_seen


@final
class Counting:
    """An order that counts the positions it is asked for."""

    def __init__(self, order):
        self.order, self.asked = order, 0

    def __len__(self):
        return len(self.order)

    def at(self, positions):
        self.asked += len(positions)
        return self.order.at(positions)


@pytest.mark.parametrize("way", [FullShuffle(), InStorageOrder(), WindowShuffle()])
def test_a_billion_samples_are_judged_by_a_few_thousand_and_always_alike(way):
    order = Counting(way.order(Extent(10**9, 110_000 * 10**9), 0, 0))
    found = quality(order, block=38, classes=1000, batch_size=256)
    assert order.asked < 2**18
    tracemalloc.start()
    again = quality(order, block=38, classes=1000, batch_size=256)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert again == found
    assert peak_bytes < 4_000_000


def test_batches_of_any_size_tell_the_same_displacement():
    order = WindowShuffle().order(Extent(10**6, 110_000 * 10**6), 0, 0)
    for batch_size in (1, 256, 20_000, 10**6):
        found = quality(order, batch_size=batch_size)
        assert found.displacement == pytest.approx(1 / 3, rel=0.05)


def test_more_samples_in_an_excerpt_change_little():
    order = WindowShuffle().order(Extent(10**6, 110_000 * 10**6), 0, 0)
    ways = {"block": 38, "classes": 1000, "batch_size": 256}
    assert values(quality(order, **ways)) == pytest.approx(values(quality(order, **ways, samples=10**6)), rel=0.05)


@pytest.mark.parametrize(("n", "world_size"), [(0, 1), (3, 4)])
def test_a_rank_without_samples_has_no_quality(n, world_size):
    with pytest.raises(UsageError, match="each rank has at least one sample"):
        Excerpt.of(Sequential(n), batch_size=4, world_size=world_size)


def test_a_single_sample_is_an_order_too():
    one = Classes.sorted(1, 1)
    found = Excerpt.of(Sequential(1), batch_size=4).quality(block=1, classes=one)
    assert values(found) == [0, 0, 1, 1] == values(uniform_quality(1, block=1, classes=one, batch_size=4))


@given(st.integers(1, 500), st.integers(1, 40))
def test_sorted_classes_are_of_equal_size(samples, count):
    classes = Classes.sorted(samples, count)
    found = classes.of(np.arange(samples))
    assert np.array_equal(np.bincount(found, minlength=count), classes.counts)
    assert np.ptp(classes.counts) <= 1
    assert (np.diff(found) >= 0).all()
