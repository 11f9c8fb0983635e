"""Progress: totals over totals, the longest stall, and the line that people know."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.torch.training import Progress, hours_left
from penstock.torch.training.meters import Average


class Clock:
    """A clock that is told when it is what time."""

    def __init__(self, *times: float) -> None:
        self.now, self.times = 0.0, iter(times)

    def __call__(self) -> float:
        self.now += next(self.times, 0.0)
        return self.now


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 1000)), min_size=1))
def test_an_average_is_the_sum_of_all_by_the_count_of_all(pairs):
    average = Average()
    for total, count in pairs:
        average.add(total, count)
    assert average.value == pytest.approx(sum(total for total, _ in pairs) / sum(count for _, count in pairs))


def test_the_latest_value_is_that_of_the_line_and_an_empty_line_repeats_the_average():
    average = Average()
    average.add(10, 1)
    average.end_line()
    average.add(20, 1)
    assert (average.latest, average.value) == (20, 15)
    average.end_line()
    assert average.latest == 15


def test_waits_and_steps_are_timed_apart_and_the_longest_wait_is_named():
    # started; then for each batch: got, end of the step
    progress = Progress("Epoch: [0]", 3, clock=Clock(0, 2, 1, 5, 1, 0.5, 1))
    assert list(progress.timed("abc")) == ["a", "b", "c"]
    assert progress.data_time.total == 7.5
    assert progress.step_time.total == 10.5
    assert (progress.stall_seconds, progress.stall_step) == (5, 1)
    assert progress.stall_share == pytest.approx(7.5 / 10.5)


def test_a_stall_of_one_step_is_not_hidden_by_an_average_of_rates():
    progress = Progress("Epoch: [0]", 100, clock=Clock(0, *itertools.chain(*[[0.1, 0.3]] * 99), 28, 0.3))
    for _ in progress.timed(range(100)):
        progress.samples += 256
    assert progress.summary()["samples_per_second"] == pytest.approx(25600 / (99 * 0.4 + 28.3))
    assert progress.summary()["longest_stall_seconds"] == pytest.approx(28)


def test_the_line_has_the_parts_that_people_know_with_tabs_between():
    progress = Progress("Epoch: [3]", 500, clock=Clock(0, 0.001, 0.25))
    for _ in progress.timed([0]):
        progress.add(4, **{"Loss": 16.0, "Prec@1": 100.0, "Prec@5": 300.0})
    assert progress.line().split("\t") == [
        "Epoch: [3][1/500]",
        "Time 0.251 (0.251)",
        "Data 0.001 (0.001)",
        "Loss 4.0000 (4.0000)",
        "Prec@1 25.000 (25.000)",
        "Prec@5 75.000 (75.000)",
        "Stall 0.001 @0",
    ]


def test_a_resumed_epoch_counts_on():
    progress = Progress("Epoch: [3]", 500, done=120)
    assert [progress.done for _ in progress.timed("ab")] == [121, 122]


def test_what_is_left_follows_from_what_was_done():
    assert hours_left(7200, 2, 10) == 8
    assert hours_left(7200, 10, 10) == 0
    assert hours_left(0, 0, 10) == float("inf")
