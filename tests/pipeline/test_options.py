"""Options: what is taken, and what is said of what is not."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.pipeline.options import one_of, whole_number


@pytest.mark.parametrize("given", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_any_kind_are_taken(given):
    assert type(whole_number(given, what="threads", least=0)) is int


@pytest.mark.parametrize("given", [2.0, "2", None, -1, [2]])
def test_what_is_no_whole_number_or_too_small_is_refused(given):
    with pytest.raises(UsageError, match=r"threads: got .*, expected a whole number, at least 0"):
        whole_number(given, what="threads", least=0)


@pytest.mark.parametrize("given", ["half", ["full"], 0, None, {}])
def test_what_is_not_among_the_choices_is_refused(given):
    one_of(("full", False), "full", what="shuffle")
    one_of(("full", False), False, what="shuffle")
    with pytest.raises(UsageError, match=r"shuffle: got .*, expected 'full' or False"):
        one_of(("full", False), given, what="shuffle")
