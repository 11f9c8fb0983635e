"""Every plot, whatever its names and numbers: well-formed, within its frame, its numbers in the marks."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.report.plots import (
    Axis,
    Bar,
    Bars,
    Curves,
    Heat,
    Level,
    Line,
    Place,
    Plane,
    Ratio,
    Ratios,
    Share,
    Shares,
    Spot,
    Strip,
    Track,
)
from penstock.report.plots.plane import front
from penstock.report.units import Unit

NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=60)
NUMBERS = st.floats(0.001, 1e6)
WIDTHS = st.sampled_from([330, 860])
ROWS = st.lists(st.tuples(NAMES, NUMBERS, st.lists(NUMBERS, max_size=4)), min_size=1, max_size=5)


def points(drawing):
    return [group for group in ET.fromstring(drawing).iter("g") if "point" in (group.get("class") or "").split()]


def bars(rows):
    return Bars("t <&>", tuple(Bar(n, "ours", v, f"{n}: {v}", tuple(d), (v / 2, v)) for n, v, d in rows), Unit("u"))


def ratios(rows):
    made = (Ratio(n, "other", v, f"{n}: {v}", tuple(d), (v / 2, v * 2), "faster") for n, v, d in rows)
    return Ratios("t <&>", tuple(made), 0.02, "base")


def curves(rows):
    lines = (
        Line(n, at, tuple(Spot(x + 1.0, y, f"{n} {y}") for x, y in enumerate([v, *d])))
        for at, (n, v, d) in enumerate(rows)
    )
    return Curves("t <&>", tuple(lines), Axis("x", Unit("")), Axis("y", Unit("u"), is_log=True), (Level(1.0, "one"),))


def plane(rows):
    places = (Place(n, at, v, v * 2, f"{n} {v}", sum(d) or None) for at, (n, v, d) in enumerate(rows))
    return Plane("t <&>", tuple(places), Axis("x", Unit("")), Axis("y", Unit("u")))


def strip(rows):
    return Strip("t <&>", tuple(Track(n, "other", (v, *d), (v, *d)) for n, v, d in rows))


@pytest.mark.parametrize("make", [bars, ratios, curves, plane, strip])
@given(rows=ROWS, width=WIDTHS)
def test_a_drawing_is_well_formed_and_every_point_says_what_it_means(make, rows, width):
    found = points(make(rows).svg(width))
    assert len(found) >= len(rows)
    assert all(point.get("aria-label") and point.get("role") == "img" for point in found)


@pytest.mark.parametrize("make", [bars, ratios, curves, plane, strip])
@given(rows=ROWS, width=WIDTHS)
def test_nothing_is_drawn_outside(make, rows, width):
    tree = ET.fromstring(make(rows).svg(width))
    height = float(tree.get("viewBox").split()[3])
    for mark in tree.iter():
        for name, most in (("x", width), ("cx", width), ("x1", width), ("x2", width), ("y", height), ("cy", height)):
            if mark.get(name) is not None:
                assert -0.5 <= float(mark.get(name)) <= most + 0.5, ET.tostring(mark)


@given(ROWS, WIDTHS)
def test_bars_are_as_long_as_their_numbers_and_carry_them_whole(rows, width):
    tree = ET.fromstring(bars(rows).svg(width))
    marks = [mark for mark in tree.iter("rect") if (mark.get("class") or "").startswith("bar")]
    values = [float(point.get("data-value")) for point in tree.iter("g") if point.get("data-value")]
    assert values == [value for _, value, _ in rows]
    lengths = [float(mark.get("width")) for mark in marks]
    longest = max(values)
    for length, value in zip(lengths, values, strict=True):
        assert length == pytest.approx(max(lengths) * value / longest, abs=0.6)


@given(ROWS)
def test_ratios_lie_at_their_logarithm(rows):
    tree = ET.fromstring(ratios(rows).svg(860))
    values = [float(point.get("data-value")) for point in tree.iter("g") if point.get("data-value")]
    places = [
        float(mark.get("d")[1:].split()[0]) + 7 for mark in tree.iter("path") if "bar" in (mark.get("class") or "")
    ]
    far = max(range(len(rows)), key=lambda n: abs(math.log(values[n] / values[0])))
    span = math.log(values[far] / values[0])
    for value, place in zip(values, places, strict=True):
        share = math.log(value / values[0]) / span if span else 0.0
        assert place == pytest.approx(places[0] + share * (places[far] - places[0]), abs=0.3)


def test_a_strip_with_more_steps_than_columns_keeps_the_longest_of_each():
    waits = [0.001] * 1000
    waits[777] = 0.5
    found = points(Strip("t", (Track("a", "other", tuple(waits)),)).svg(860))
    assert len(found) == 200
    longest = [point for point in found if float(point.get("data-wait")) == 0.5]
    assert [point.get("aria-label") for point in longest] == ["a, steps 775 to 779, the longest: waited 500 ms"]


def test_shares_are_drawn_from_before_to_after():
    drawing = Shares("t", (Share("a", "ours", "cold", ((0.0, 1.0, "one"), (None, 0.5, "two"))),)).svg(860)
    found = points(drawing)
    assert [(point.get("data-before"), point.get("data-after")) for point in found] == [("0.0", "1.0"), (None, "0.5")]


@given(st.lists(st.lists(st.none() | NUMBERS, min_size=3, max_size=3), min_size=1, max_size=6), WIDTHS)
def test_a_heat_map_prints_every_number_and_is_darkest_at_the_largest(values, width):
    rows, columns = tuple(f"r{n}" for n in range(len(values))), ("a", "b", "c")
    drawing = Heat("t", "down", "across", rows, columns, tuple(map(tuple, values)), Unit("u")).svg(width)
    tree = ET.fromstring(drawing)
    found = [
        (float(g.get("data-value")), float(g[0].get("fill-opacity"))) for g in tree.iter("g") if g.get("data-value")
    ]
    assert [value for value, _ in found] == [value for row in values for value in row if value is not None]
    assert not found or max(found)[1] == max(shade for _, shade in found)


def test_the_front_is_whom_nobody_beats_on_both():
    places = tuple(Place(name, 0, x, y, "") for name, x, y in [("a", 1, 5), ("b", 2, 9), ("c", 3, 8), ("d", 4, 10)])
    assert [place.name for place in front(places)] == ["a", "b", "d"]
