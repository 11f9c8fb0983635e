"""How numbers are said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.report.units import digits, said, unit_for


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (5899.3, "samples/s", "5,899 samples/s"),
        (0.0123, "s", "12.3 ms"),
        (2.5e-6, "s", "2.5 µs"),
        (12.0, "s", "12 s"),
        (324e6, "B", "324 MB"),
        (1.61e9, "B/s", "1.61 GB/s"),
        (0.412, "share", "41.2%"),
        (0.34, "s/1,000 samples", "0.34 ms/sample"),
        (0.0, "s", "0 µs"),
    ],
)
def test_a_number_is_said_with_its_unit(value, unit, words):
    assert said(value, unit) == words


@given(st.floats(1e-9, 1e12))
def test_what_is_written_is_the_number_but_for_half_a_digit(value):
    assert float(digits(value).replace(",", "")) == pytest.approx(value, rel=0.006, abs=0.0006 if value < 1 else 0.006)


@given(st.floats(1e-9, 1e12), st.sampled_from(["s", "B", "B/s", "share", "samples/s"]))
def test_a_unit_never_changes_the_number(value, name):
    unit = unit_for(name, value)
    assert unit.times > 0
    assert float(unit.of(value).replace(",", "")) / unit.times == pytest.approx(
        value, rel=0.006, abs=0.0006 / unit.times
    )
