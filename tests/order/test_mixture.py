"""Mixtures: exact quotas, each part gone through evenly over the epochs, any position by itself."""

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.order.mixture import MixtureOrder, Part, quotas

SHAPES = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 90)), min_size=1, max_size=4).filter(
    lambda shapes: any(quota for _, quota in shapes)
)


def parts(shapes):
    firsts = accumulate((samples for samples, _ in shapes), initial=0)
    return tuple(Part(first, samples, quota) for first, (samples, quota) in zip(firsts, shapes, strict=False))


def whole(order):
    return order.at(np.arange(len(order)))


@given(SHAPES, st.integers(0, 5))
def test_an_epoch_takes_its_quota_of_each_part(shapes, epoch):
    of_parts = parts(shapes)
    ids = whole(MixtureOrder(of_parts, seed=3, epoch=epoch))
    assert len(ids) == sum(quota for _, quota in shapes)
    for part in of_parts:
        assert ((ids >= part.first) & (ids < part.first + part.samples)).sum() == part.quota


@given(SHAPES, st.integers(1, 6))
def test_over_epochs_all_samples_of_a_part_come_equally_often(shapes, epochs):
    of_parts = parts(shapes)
    ids = np.concatenate([whole(MixtureOrder(of_parts, seed=3, epoch=epoch)) for epoch in range(epochs)])
    counts = np.bincount(ids, minlength=sum(samples for samples, _ in shapes))
    for part in of_parts:
        of_part = counts[part.first : part.first + part.samples]
        assert of_part.max() - of_part.min() <= 1


@given(SHAPES, st.data())
def test_ids_come_for_any_positions_in_any_order(shapes, data):
    order = MixtureOrder(parts(shapes), seed=3, epoch=2)
    positions = np.array(data.draw(st.lists(st.integers(0, len(order) - 1))), np.int64)
    assert np.array_equal(order.at(positions), whole(order)[positions])


def test_parts_are_mixed_all_over_the_epoch():
    ids = whole(MixtureOrder(parts([(5000, 1000), (5000, 3000)]), seed=1, epoch=0))
    shares = (ids.reshape(40, 100) < 5000).mean(axis=1)
    assert abs(shares.mean() - 0.25) < 1e-9
    assert shares.min() > 0.05
    assert shares.max() < 0.5


@given(st.lists(st.floats(0, 100), min_size=1, max_size=6).filter(any), st.integers(1, 1000))
def test_quotas_are_as_near_the_ratios_as_whole_numbers_can_be(ratios, samples):
    shares = quotas(tuple(ratios), samples)
    assert sum(shares) == samples
    exact = np.array(ratios) / sum(ratios) * samples
    assert (np.abs(np.array(shares) - exact) < 1 + 1e-6).all()


def test_the_orders_are_pinned():
    assert whole(MixtureOrder(parts([(4, 3), (10, 7)]), seed=42, epoch=1)).tolist() == PINNED


PINNED = [5, 12, 6, 1, 11, 13, 3, 3, 5, 10]
