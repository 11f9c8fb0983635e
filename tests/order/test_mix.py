"""Mixing scrambles one to one, and keys tell all their parts apart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.order.mix import mix, mix_key

NUMBERS = st.integers(-(2**70), 2**70)


def test_mixing_sends_different_numbers_to_different_numbers():
    assert len(np.unique(mix(np.arange(100_000, dtype=np.uint64)))) == 100_000


def test_a_changed_bit_changes_half_the_bits():
    values = mix(np.arange(1, 2001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    for bit in range(64):
        changed = mix(np.arange(1, 2001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(1 << bit))
        bits = np.unpackbits((values ^ changed).view(np.uint8)).mean()
        assert 0.47 < bits < 0.53


@given(st.integers(-(2**63), 2**63 - 1))
def test_numpy_integers_make_the_keys_of_pythons(number):
    assert mix_key(np.int64(number), np.int32(-7)) == mix_key(number, -7)


@given(st.lists(NUMBERS, max_size=4), st.lists(NUMBERS, max_size=4))
def test_different_numbers_make_different_keys(one, other):
    assert (mix_key(*one) == mix_key(*other)) == (one == other)
    assert 0 <= mix_key(*one) < 2**64
