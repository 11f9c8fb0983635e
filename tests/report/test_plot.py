"""Plots."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from penstock.report.plot import Bar, Interval, Line, bars, intervals, lines, ticks

NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=60)
RATES = st.floats(0.001, 1e6)


@given(st.floats(1e-6, 1e9))
def test_ticks_begin_at_zero_reach_the_top_and_are_few(top):
    marks = ticks(top)
    assert marks[0] == 0
    assert marks[-1] >= top * (1 - 1e-6)
    assert 2 <= len(marks) <= 7
    assert all(a < b for a, b in itertools.pairwise(marks))


@given(st.lists(st.tuples(NAMES, RATES, st.lists(RATES, max_size=5)), min_size=1, max_size=5))
def test_drawings_are_well_formed_whatever_the_names_and_show_every_value(rows):
    found = [Bar(name, value, tuple(dots), "other", f"{value:.3f}") for name, value, dots in rows]
    tree = ET.fromstring(bars(found, title="t <&>", unit="img/s"))
    texts = [element.text for element in tree.iter("text")]
    assert {row.printed for row in found} <= set(texts)
    whiskers = [Interval(name, value, value / 2, value * 2, (value,), "ours") for name, value, _ in rows]
    tree = ET.fromstring(intervals(whiskers, title="t", base="b"))
    assert len(tree.findall("path")) == len(rows)
    paths = [Line(name, (value, None, *dots), "ours") for name, value, dots in rows]
    tree = ET.fromstring(lines(paths, title="t", unit="img/s"))
    assert len(tree.findall("polyline")) == len(rows)


def test_names_at_the_ends_of_lines_do_not_lie_on_each_other():
    tree = ET.fromstring(lines([Line(str(n), (5.0, 5.0), "other") for n in range(4)], title="t", unit="u"))
    heights = sorted(float(text.get("y")) for text in tree.iter("text") if (text.get("class") or "").startswith("name"))
    assert all(b - a >= 16 for a, b in itertools.pairwise(heights))
