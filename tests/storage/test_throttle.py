"""The token bucket: no limit until a server complains, half the pace after that, faster again while it is content."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.throttle import LEAST_PER_SECOND, SLOWER, WINDOW_SECONDS, Throttle


def paced(throttle, start, per_second, count):
    """Send so many requests at this pace; when the last one was sent."""
    for number in range(count):
        throttle.turn(start + number / per_second)
    return start + (count - 1) / per_second


def test_a_content_server_is_asked_without_limit():
    throttle = Throttle()
    assert [throttle.turn(at) for at in (0.0, 0.0, 0.0, 0.1)] == [0.0] * 4
    assert throttle.per_second is None


def test_a_complaint_halves_the_pace_that_there_was():
    throttle = Throttle()
    now = paced(throttle, 0.0, per_second=100, count=200)
    throttle.complained(now)
    assert abs(throttle.per_second - 50) <= 1
    assert throttle.cuts == 1


@given(st.integers(2, 500))
def test_turns_after_a_complaint_are_apart_by_the_pace(count):
    throttle = Throttle()
    throttle.complained(paced(throttle, 0.0, per_second=100, count=150))
    pace, now = throttle.per_second, 149 / 100
    goes_at = [now + throttle.turn(now) for _ in range(count)]
    gaps = [later - before for before, later in pairwise(goes_at)]
    assert all(abs(gap - 1 / pace) < 1e-9 for gap in gaps)


def test_complaints_about_what_was_sent_before_the_cut_do_not_count_again():
    throttle = Throttle()
    now = paced(throttle, 0.0, per_second=100, count=100)
    for late in range(10):
        throttle.complained(now + late * WINDOW_SECONDS / 20)
    assert throttle.cuts == 1


def test_complaints_go_on_halving_down_to_a_least_pace():
    throttle = Throttle()
    now = paced(throttle, 0.0, per_second=64, count=65)
    for _ in range(20):
        throttle.complained(now)
        now += WINDOW_SECONDS
    assert throttle.per_second == LEAST_PER_SECOND


def test_a_server_that_is_content_again_is_asked_faster_and_in_the_end_without_limit():
    throttle = Throttle()
    now = paced(throttle, 0.0, per_second=100, count=100)
    throttle.complained(now)
    throttle.turn(now + 2)
    assert throttle.per_second > SLOWER * 100
    throttle.turn(now + 60)
    assert throttle.per_second is None
