"""Braces in names."""

import pytest

from penstock.errors import UsageError
from penstock.ingest.patterns import expanded, has_stars


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("x.tar", ["x.tar"]),
        ("x-{008..011}.tar", ["x-008.tar", "x-009.tar", "x-010.tar", "x-011.tar"]),
        ("{a,b}-{0..1}", ["a-0", "a-1", "b-0", "b-1"]),
        ("s3://b/{train,val}.tar", ["s3://b/train.tar", "s3://b/val.tar"]),
    ],
)
def test_braces_stand_for_names_in_order(pattern, names):
    assert expanded(pattern) == names


@pytest.mark.parametrize("pattern", ["x{}", "x{a}", "x{3..1}", "x{0..9999999}", "{0..9999}{0..9999}", "{a..b}"])
def test_braces_that_stand_for_nothing_or_too_much_are_refused(pattern):
    with pytest.raises(UsageError, match=r"stand for nothing|too many files"):
        expanded(pattern)


def test_stars_are_seen():
    assert [has_stars(name) for name in ("a*.tar", "a?", "[ab]", "a.tar")] == [True, True, True, False]
