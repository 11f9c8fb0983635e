"""Markdown."""

from __future__ import annotations

from penstock.report import markdown
from tests.report.made import race
from tests.results.made import race as rates


def test_it_has_verdict_table_doubts_and_the_command():
    text = markdown(race(), against="torchvision")
    assert text.startswith("### Loaders side by side: photos\n")
    assert "- penstock, packed: 5.73 times as fast as torchvision" in text
    assert "| **penstock, packed** | **5,9" in text
    assert "- invalid: turbo: the page cache was to be cold, and was warm." in text
    assert "`penstock race photos --peers penstock,turbo,torchvision,penstock`" in text


def test_names_cannot_break_the_table():
    text = markdown(rates({"a|b *c*": [1.0], "<d>": [2.0]}))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({row.replace("\\|", "").count("|") for row in rows}) == 1
    assert "\\<d\\>" in text


def test_several_results_stand_below_each_other_under_their_names():
    text = markdown(race(), race(seed=5), names=["before", "after"])
    assert text.index("### before") < text.index("### after")
    assert "penstock, packed · after" in text
