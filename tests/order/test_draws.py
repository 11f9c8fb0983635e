"""Draws depend on their name alone, are uniform, and are pinned."""

import numpy as np
import pytest

from penstock.order.draws import STREAM_DRAWS, Draws

IDS = np.arange(5000, dtype=np.int64)


def test_a_sample_draws_the_same_in_any_company():
    whole = Draws.of(3, 1, IDS).uniform(4)
    some = np.array([4999, 17, 17, 0])
    assert np.array_equal(Draws.of(3, 1, some).uniform(4), whole[some])
    assert np.array_equal(Draws.of(3, 1, IDS).only(some).uniform(4), whole[some])


def test_later_draws_can_be_had_without_the_earlier_ones():
    draws = Draws.of(3, 1, IDS)
    assert np.array_equal(draws.uniform(3, first=2), draws.uniform(5)[:, 2:])


@pytest.mark.parametrize(
    "other", [Draws.of(4, 1, IDS), Draws.of(3, 2, IDS), Draws.of(3, 1, IDS).for_stream(1), Draws.of(1, 3, IDS)]
)
def test_another_seed_epoch_or_stream_has_nothing_in_common(other):
    mine = Draws.of(3, 1, IDS).uniform(1)[:, 0]
    theirs = other.uniform(1)[:, 0]
    assert abs(np.corrcoef(mine, theirs)[0, 1]) < 5 / np.sqrt(len(IDS))
    assert (mine == theirs).sum() == 0


def test_draws_are_uniform_and_independent_of_one_another():
    values = Draws.of(0, 0, np.arange(20_000, dtype=np.int64)).uniform(6)
    assert values.min() >= 0
    assert values.max() < 1
    for column in values.T:
        counts = np.bincount((column * 50).astype(int), minlength=50)
        assert ((counts - 400) ** 2 / 400).sum() < 86  # 49 degrees of freedom, exceeded once in a thousand
    assert np.abs(np.corrcoef(values.T) - np.eye(6)).max() < 5 / np.sqrt(20_000)


def test_streams_do_not_run_into_one_another():
    draws = Draws.of(0, 0, IDS)
    with pytest.raises(ValueError, match="4096 draws"):
        draws.uniform(2, first=STREAM_DRAWS - 1)


def test_the_draws_are_pinned():
    assert Draws.of(7, 2, np.array([0, 123_456_789])).for_stream(1).uniform(2).tolist() == PINNED


PINNED = [[0.9602495598179085, 0.1175142178840427], [0.2808599403717743, 0.3072568416235196]]
