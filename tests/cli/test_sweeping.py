"""Factors as people write them."""

from __future__ import annotations

import click
import pytest

from penstock.bench import Case
from penstock.cli.sweeping import as_levels


@pytest.mark.parametrize(
    ("given", "levels"),
    [
        (("workers=1,2,4",), {"workers": [1, 2, 4]}),
        (("batch-size=8", "cache=warm,cold"), {"batch_size": [8], "cache": ["warm", "cold"]}),
        (("memory=300MB, 1GiB",), {"memory_bytes": [300_000_000, 2**30]}),
        (("think=0.5",), {"think_seconds": [0.5]}),
        (("capacity=yes,0",), {"capacity": [True, False]}),
        ((), {}),
    ],
)
def test_levels_have_the_type_of_what_is_varied(given, levels):
    found = as_levels(Case, given)
    assert found == levels
    assert [type(one) for all_ in found.values() for one in all_] == [type(o) for all_ in levels.values() for o in all_]


@pytest.mark.parametrize(
    "given", ["wrokers=1", "workers", "workers=", "workers=two", "think=fast", "memory=much", "capacity=perhaps"]
)
def test_what_cannot_be_is_refused(given):
    with pytest.raises(click.BadParameter):
        as_levels(Case, (given,))
