"""What times say: known answers first, then any."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench.endpoint import curve
from penstock.bench.endpoint.curve import LEVELS, LevelPoint, SizePoint, Troubles
from penstock.storage.link import Taken
from penstock.storage.location import Requests

MIB = 2**20


def levels(*rates, troubles=None):
    """Levels with these rates, whose requests all take equally long."""
    found = []
    for in_flight, rate in zip(LEVELS, rates, strict=False):
        what = (troubles or {}).get(in_flight, Troubles())
        found.append(LevelPoint(in_flight, 24, rate, seconds=0.02, p95_seconds=0.03, troubles=what))
    return found


def size(size_bytes, seconds):
    return SizePoint(size_bytes, 20, seconds / 2, seconds / 2, seconds, seconds)


def test_requests_are_summed_up():
    taken = [Taken(MIB, 0.01 * number, 0.1 * number) for number in range(1, 22)]
    point = SizePoint.of(MIB, taken)
    assert (point.requests, point.first_byte_seconds, point.seconds) == (21, pytest.approx(0.11), pytest.approx(1.1))
    assert (point.first_byte_p95_seconds, point.p95_seconds) == (pytest.approx(0.2), pytest.approx(2.0))
    assert point.bytes_per_second == pytest.approx(MIB / 1.1)
    level = LevelPoint.of(4, taken, elapsed=7.0, troubles=Troubles())
    assert (level.requests, level.bytes_per_second) == (21, pytest.approx(3 * MIB))
    assert LevelPoint.of(4, [], elapsed=7.0, troubles=Troubles(3)).bytes_per_second == 0


def test_sizes_are_those_that_the_object_allows():
    assert curve.sizes(2**30) == tuple(4096 * 4**step for step in range(7))
    assert curve.sizes(70_000) == (4096, 16384, 65536)
    assert curve.sizes(17) == (17,)


def test_the_best_size_is_the_smallest_that_nearly_has_the_best_rate():
    """10 ms to the first byte, then 100 MB/s: 90 % of that takes 9 MB."""
    points = [size(number, 0.01 + number / 100e6) for number in (10**5, 10**6, 8 * 10**6, 10**7, 10**9)]
    assert curve.best_size(points) == 10**7


def test_a_level_is_trouble_by_what_went_wrong_or_by_its_tail():
    alone, slow = LevelPoint(1, 24, 1e6, 0.01, 0.012), LevelPoint(64, 192, 1e6, 0.6, 0.9)
    assert curve.trouble(slow, alone) is None, "a queue, no tail"
    assert "a twentieth took more than 4.00 s" in curve.trouble(LevelPoint(64, 192, 1e6, 0.6, 4.0), alone)
    assert curve.trouble(LevelPoint(8, 24, 1e6, 0.001, 0.04), alone) is None, "one alone is hardly better"
    assert curve.trouble(LevelPoint(8, 20, 1e6, 0.01, 0.01, Troubles(slower=4)), alone).startswith("4 answers asked")
    assert curve.trouble(LevelPoint(8, 20, 1e6, 0.01, 0.01, Troubles(errors=4)), alone) == "4 requests failed"


def test_safe_is_the_last_level_before_trouble_and_useful_the_knee():
    found = levels(100, 200, 380, 400, 410, 900, troubles={32: Troubles(slower=3)})
    assert (curve.safe(found), curve.useful(found)) == (16, 4)
    assert (curve.safe(levels(100, 200)), curve.useful(levels(100, 200))) == (2, 2)
    none = levels(100, troubles={1: Troubles(errors=1)})
    assert (curve.safe(none), curve.useful(none)) == (None, None)


def test_more_at_a_time_are_tried_while_that_brings_something():
    assert curve.goes_on(levels(100))
    assert curve.goes_on(levels(100, 90))
    assert curve.goes_on(levels(100, 90, 120)), "one level may be an accident"
    assert not curve.goes_on(levels(100, 101, 102))
    assert not curve.goes_on(levels(100, 200, troubles={2: Troubles(errors=1)}))


def test_advice_is_to_set_nothing_where_all_is_well():
    settings, why = curve.advice(levels(100, 200, 210, 211), MIB, Requests())
    assert settings == {}
    assert "up to 48 requests" in why
    assert "2 give nearly the best rate" in why


def test_advice_names_what_is_too_much():
    found = levels(100, 200, 300, 400, troubles={8: Troubles(slower=3)})
    settings, why = curve.advice(found, MIB, Requests())
    assert settings == {"in_flight": 4}
    assert "with 8 in flight: 3 answers asked for fewer requests" in why
    assert curve.advice(found, MIB, Requests(in_flight=4))[0] == {}, "so it is set already"
    assert curve.advice(levels(1, troubles={1: Troubles(errors=1)}), MIB, Requests())[0] == {"in_flight": 1}


def test_advice_makes_room_for_what_is_faster():
    found = levels(1, 2, 4, 8, 16, 32, 64)
    settings, why = curve.advice(found, MIB, Requests())
    assert settings == {"in_flight": 128, "in_flight_bytes": 64 * MIB}
    assert "64 are faster" in why
    assert curve.advice(found, MIB, Requests(**settings))[0] == {}, "advice that is followed is enough"


RATES = st.lists(st.floats(1e3, 1e10), min_size=1, max_size=len(LEVELS))
BAD = st.dictionaries(st.sampled_from(LEVELS), st.just(Troubles(errors=1)), max_size=2)


@given(RATES, BAD)
def test_useful_is_safe_nearly_the_best_and_the_smallest_such(rates, bad):
    found = levels(*rates, troubles=bad)
    safe, useful = curve.safe(found), curve.useful(found)
    assert (safe is None) == (1 in bad) == (useful is None)
    if safe is None:
        return
    good = {level.in_flight: level.bytes_per_second for level in found if level.in_flight <= safe}
    assert not set(good) & set(bad)
    enough = 0.9 * max(good.values())
    assert good[useful] >= enough
    assert all(rate < enough for in_flight, rate in good.items() if in_flight < useful)


@given(RATES, BAD, st.integers(-6, 6))
def test_in_other_units_it_is_the_same(rates, bad, power):
    found, other = levels(*rates, troubles=bad), levels(*(rate * 2.0**power for rate in rates), troubles=bad)
    assert curve.useful(found) == curve.useful(other)
    assert curve.goes_on(found) == curve.goes_on(other)


@given(RATES, BAD, st.integers(1, 16 * MIB), st.integers(1, 256), st.integers(MIB, 256 * MIB))
def test_advice_that_is_followed_is_enough(rates, bad, size_bytes, in_flight, in_flight_bytes):
    found = levels(*rates, troubles=bad)
    requests = Requests(in_flight=in_flight, in_flight_bytes=in_flight_bytes)
    settings, why = curve.advice(found, size_bytes, requests)
    assert why
    after = Requests(**{"in_flight": in_flight, "in_flight_bytes": in_flight_bytes, **settings})
    if curve.safe(found) is not None:
        assert curve.advice(found, size_bytes, after)[0] == {}


@given(st.lists(st.tuples(st.integers(1, 2**30), st.floats(1e-6, 1e3)), min_size=1, unique_by=lambda one: one[0]))
def test_the_best_size_is_one_of_those_measured(pairs):
    points = [size(*pair) for pair in pairs]
    best = next(point for point in points if point.size_bytes == curve.best_size(points))
    assert best.bytes_per_second >= 0.9 * max(point.bytes_per_second for point in points)
