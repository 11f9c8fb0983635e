"""The write order: pinned, since the format promises it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.shard.write_order import write_order


@given(st.lists(st.text(st.characters(codec="utf-8")), unique=True), st.integers(0, 2**64 - 1))
def test_the_write_order_is_a_permutation_that_follows_the_keys(keys, seed):
    order = write_order(keys, seed)
    assert sorted(order) == list(range(len(keys)))
    backwards = keys[::-1]
    assert [keys[i] for i in order] == [backwards[i] for i in write_order(backwards, seed)]


def test_the_write_order_is_pinned():
    keys = [f"k{i}" for i in range(8)]
    assert write_order(keys, 0) == [1, 0, 2, 5, 3, 7, 4, 6]
    assert write_order(keys, 1) != write_order(keys, 0)


def test_without_a_seed_the_order_is_the_sources():
    assert write_order(["b", "a"], None) == [0, 1]


def test_a_seed_outside_64_bits_is_refused():
    with pytest.raises(UsageError, match="seed"):
        write_order([], -1)
