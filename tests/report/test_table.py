"""The table."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from penstock.report import table
from penstock.results import from_json
from tests.bench.results import result as former


def result(rates):
    return from_json(former(rates))


def shown(race, **options):
    console = Console(width=80, record=True, file=StringIO())
    console.print(table(race, **options))
    return console.export_text()


def test_the_table_ranks_compares_and_counts_without_colour():
    text = shown(result({"torchvision": [100, 101, 99], "penstock": [400, 404, 396]}))
    rows = text.partition("───")[2].splitlines()[1:]
    assert "penstock" in rows[0]
    assert "4.00" in rows[0]
    assert "torchvision" in rows[1]


def test_the_peer_to_compare_with_can_be_chosen():
    text = shown(result({"a": [1, 1, 1], "b": [2, 2, 2], "c": [4, 4, 4]}), against="b")
    assert "as much as b" in text
    assert "0.50" in text


def test_failures_stand_below_the_table():
    text = shown(result({"a": [None], "b": [2]}))
    assert "failed" in text
    assert "ImportError: no such library" in text
