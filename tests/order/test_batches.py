"""An order cut into batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.order import Permutation, Sequential
from penstock.order.batches import batch_count, batch_slices, slabs


@given(st.integers(0, 9000), st.integers(1, 3000), st.booleans())
def test_batches_are_the_order_cut_in_equal_pieces(samples, batch_size, drop_last):
    order = Permutation(samples, 1)
    batches = [
        ids[part]
        for ids in slabs(order, batch_size, drop_last=drop_last)
        for part in batch_slices(len(ids), batch_size)
    ]
    assert len(batches) == batch_count(samples, batch_size, drop_last=drop_last)
    whole = order[:][: len(batches) * batch_size]
    assert np.array_equal(np.concatenate([*batches, np.empty(0, np.int64)]), whole)
    assert all(len(ids) == batch_size for ids in batches[:-1])
    assert not drop_last or all(len(ids) == batch_size for ids in batches)


def test_slabs_are_lazy():
    first = next(slabs(Sequential(10**12), 256, drop_last=False))
    assert len(first) == 2048


def test_a_batch_holds_at_least_one_sample():
    with pytest.raises(UsageError):
        batch_count(10, 0, drop_last=False)
