"""The order of storage."""

import pytest

from penstock.errors import UsageError
from penstock.order.sequential import Sequential


def test_samples_come_as_they_are_stored():
    assert Sequential(10)[3:6].tolist() == [3, 4, 5]
    assert Sequential(10)[8:99].tolist() == [8, 9]
    assert len(Sequential(10)) == 10


def test_a_negative_length_is_refused():
    with pytest.raises(UsageError):
        Sequential(-1)
