"""The order of storage."""

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.order.sequential import Sequential


def test_samples_come_as_they_are_stored():
    assert Sequential(10).at(np.array([3, 4, 9])).tolist() == [3, 4, 9]
    assert len(Sequential(10)) == 10


def test_a_negative_length_is_refused():
    with pytest.raises(UsageError):
        Sequential(-1)
