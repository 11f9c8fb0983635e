"""A rank's share: every sample once over all ranks, as many batches on each, from wherever one begins."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.order.share import Share

SAMPLES, BATCH, WORLD = st.integers(0, 3000), st.integers(1, 40), st.integers(1, 9)
LAST = st.sampled_from(["short", "pad", "drop"])


def batches_of(share, samples, start=0):
    """Positions without padding, padding, stop: of each batch."""
    found = []
    for slab in share.slabs(samples, start):
        for part, stop, padding in slab.batches():
            positions = slab.positions[part]
            assert ((positions >= 0) & (positions < samples)).all()
            found.append((positions[: len(positions) - padding], padding, stop))
    return found


@given(SAMPLES, BATCH, WORLD, LAST, st.data())
def test_ranks_share_what_is_left_of_an_epoch(samples, batch_size, world_size, last, data):
    start = data.draw(st.integers(0, samples))
    shares = [Share(batch_size, rank, world_size, last) for rank in range(world_size)]
    all_ranks = [batches_of(share, samples, start) for share in shares]
    delivered = [position for batches in all_ranks for positions, _, _ in batches for position in positions.tolist()]
    stop = shares[0].stop(samples, start)
    assert sorted(delivered) == list(range(start, stop))
    assert stop == samples or (last == "drop" and samples - stop < batch_size * world_size)
    for share, batches in zip(shares, all_ranks, strict=True):
        assert len(batches) == share.batches(samples, start)
        sizes = [len(positions) + padding for positions, padding, _ in batches]
        assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
        assert min(sizes, default=1) > 0
        assert last == "short" or sizes == [batch_size] * len(sizes)
        assert all(padding == 0 for _, padding, _ in batches[:-1])
        assert last != "short" or all(padding <= 1 for _, padding, _ in batches)
    assert len({tuple(len(positions) + padding for positions, padding, _ in batches) for batches in all_ranks}) == 1


@given(SAMPLES, BATCH, WORLD, LAST)
def test_all_ranks_together_have_consumed_what_a_batch_says(samples, batch_size, world_size, last):
    all_ranks = [batches_of(Share(batch_size, rank, world_size, last), samples) for rank in range(world_size)]
    consumed = 0
    for batch in zip(*all_ranks, strict=True):
        positions = np.concatenate([positions for positions, _, _ in batch])
        assert np.array_equal(np.sort(positions), np.arange(consumed, consumed + len(positions)))
        consumed += len(positions)
        assert {stop for _, _, stop in batch} == {consumed}


@given(SAMPLES, BATCH, WORLD, st.data())
def test_an_interrupted_epoch_goes_on_where_it_stopped_with_other_ranks_and_batches(samples, batch_size, world, data):
    first = [batches_of(Share(batch_size, rank, world), samples) for rank in range(world)]
    assume(first[0])
    stop = data.draw(st.integers(0, len(first[0]) - 1))
    before = [positions for batches in first for positions, _, _ in batches[:stop]]
    consumed = first[0][stop - 1][2] if stop else 0
    size, ranks = data.draw(BATCH), data.draw(WORLD)
    after = [
        positions
        for rank in range(ranks)
        for positions, _, _ in batches_of(Share(size, rank, ranks), samples, consumed)
    ]
    counts = Counter(np.concatenate([*before, *after, np.empty(0, np.int64)]).tolist())
    assert counts == Counter(range(samples))


@given(SAMPLES, BATCH, st.sampled_from([1, 2, 4, 8]))
def test_a_rank_keeps_to_its_lanes(samples, batch_size, world_size):
    for rank in range(world_size):
        for positions, _, _ in batches_of(Share(batch_size, rank, world_size), samples):
            assert set((positions % 8 % world_size).tolist()) <= {rank}


def test_repeats_that_fill_a_batch_are_the_ranks_own():
    (slab,) = Share(4, rank=1, world_size=2, last="pad").slabs(5)
    assert slab.positions.tolist() == [1, 3, 1, 3]
    assert slab.padding == 2
    *_, slab = Share(2, rank=1, world_size=2).slabs(9)  # one sample is left, and it is rank 0's
    assert slab.positions.tolist()[-1] == 7
    assert slab.padding == 1


def test_slabs_are_lazy():
    slab = next(Share(256).slabs(10**12))
    assert len(slab.positions) == 2048


def test_a_number_of_ranks_that_does_not_divide_the_lanes_is_refused_with_those_that_do():
    Share(1, world_size=8).check(16)
    with pytest.raises(UsageError, match=r"16 lanes.*world_size=3, expected one of \[1, 2, 4, 8, 16\]"):
        Share(1, world_size=3).check(16)


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"rank": 2, "world_size": 2}, {"rank": -1}, {"world_size": 0}])
def test_impossible_shares_are_refused(options):
    with pytest.raises(UsageError):
        Share(**{"batch_size": 1, **options})
