"""Sizes as people write them."""

import click
import pytest

from penstock.cli.quantities import as_bytes, shown_bytes, shown_counts


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("64MiB", 64 * 1024**2),
        ("500MB", 500_000_000),
        ("1g", 10**9),
        ("1.5 kB", 1500),
        ("77", 77),
        ("2Ki", 2048),
        ("3B", 3),
    ],
)
def test_sizes_are_read_with_their_units(text, count):
    assert as_bytes(None, None, text) == count


@pytest.mark.parametrize("text", ["", "MB", "-5", "0", "5 parsecs", "1e6", "0.1"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(click.BadParameter, match="is no size"):
        as_bytes(None, None, text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (-8_810_000, "-8.81 MB"),
        (310_259_233, "310 MB"),
        (10**12, "1 TB"),
        (999_600, "1 MB"),
    ],
)
def test_sizes_are_written_with_three_digits(count, text):
    assert shown_bytes(count) == text


def test_counts_are_written_by_name():
    assert shown_counts({"tiled": 1998, "kept": 2, "broken": 0}) == "1,998 tiled, 2 kept"
    assert shown_counts({}) == "nothing"
