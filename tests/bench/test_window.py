"""Taking batches on a clock of our own."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench import window


class Clock:
    """A clock that goes on only when something takes its time."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds * 1.1  # wakes up late

    def batches(self, waits):
        for wait in waits:
            self.now += wait
            yield "batch"


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(window, "time", clock)
    return clock


def test_the_rate_is_a_total_over_a_total(clock):
    """One wait of 800 ms and seven of 1 ms: a mean of rates would say 56,000."""
    found = window.consume(clock.batches([0.8, *[0.001] * 7]), lambda _: 64)
    values = window.values([found])
    assert values["samples_per_second"] == pytest.approx(512 / 0.807)
    assert values["longest_wait_seconds"] == pytest.approx(0.8)
    assert values["stall_share"] == pytest.approx(1)
    assert found.is_whole


def test_think_time_is_no_wait_and_its_overshoot_is_not_use(clock):
    found = window.consume(clock.batches([0.5] * 4), lambda _: 1, think_seconds=1.0)
    values = window.values([found], think_seconds=1.0)
    assert found.seconds == pytest.approx(4 * 1.6)
    assert values["stall_share"] == pytest.approx(2 / 6.4)
    assert values["accelerator_use"] == pytest.approx(4 / 6.4)
    assert values["overshoot_share"] == pytest.approx(0.4 / 6.4)


def test_a_real_step_is_thinking(clock):
    found = window.consume(clock.batches([0.1] * 3), lambda _: 1, step=lambda _: clock.sleep(1))
    assert found.think_seconds == pytest.approx((1.1,) * 3)


def test_it_ends_after_enough_batches_or_enough_time(clock):
    assert len(window.consume(clock.batches([0.1] * 9), lambda _: 1, most_batches=4).samples) == 4
    found = window.consume(clock.batches([0.1] * 9), lambda _: 1, most_seconds=0.35)
    assert (len(found.samples), found.is_whole) == (4, False)


def test_short_thinking_is_spun_and_not_slept():
    assert 0 < window.think(2e-4) < 0.1


def test_a_stall_is_longer_than_a_millisecond_and_than_a_share_of_the_step(clock):
    waits = [0.0005, 0.002, 0.002, 0.06]
    assert window.values([window.consume(clock.batches(waits), lambda _: 1)])["stalled_steps_share"] == 0.75
    slow = window.consume(clock.batches(waits), lambda _: 1, think_seconds=1.0)
    assert window.values([slow], think_seconds=1.0)["stalled_steps_share"] == 0.25


def test_every_fourth_step_slow_shows_as_the_period_of_four_workers():
    waits = [0.8 if number % 4 == 0 else 0.001 for number in range(80)]
    assert window.period_score(waits, 4) > 0.9
    assert window.period_score(waits, 3) < 0.1
    assert window.period_score(waits, 1) is None
    assert window.period_score([0.1] * 80, 4) is None
    assert window.period_score(waits[:8], 4) is None


@given(st.lists(st.lists(st.floats(0, 10), min_size=1, max_size=20), min_size=1, max_size=4))
def test_windows_together_are_their_totals(parts):
    windows = [window.Window(sum(part) + 0.1, tuple(part), (), (3,) * len(part), True) for part in parts]
    values = window.values(windows)
    assert values["samples"] == 3 * sum(map(len, parts))
    assert values["seconds"] == pytest.approx(sum(map(sum, parts)) + 0.1 * len(parts))
    assert values["samples_per_second"] == pytest.approx(values["samples"] / values["seconds"])
    steps = window.steps(windows)
    assert len(steps.wait_seconds) == len(list(itertools.chain(*parts)))


def test_few_steps_have_no_far_percentiles():
    few = window.values([window.Window(1.0, (0.1,) * 10, (), (1,) * 10, True)])
    assert "wait_p50_seconds" in few
    assert "wait_p99_seconds" not in few
    assert window.values([]) == {}
