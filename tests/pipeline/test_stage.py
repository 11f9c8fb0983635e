"""A stage checks its numbers."""

import pytest

from penstock.errors import UsageError
from penstock.pipeline import Stage


@pytest.mark.parametrize("numbers", [{"threads": 0}, {"depth": 0}])
def test_a_stage_without_threads_or_room_is_refused(numbers):
    with pytest.raises(UsageError, match="stage decode"):
        Stage("decode", str, **numbers)
