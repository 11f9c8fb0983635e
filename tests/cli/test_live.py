"""What is shown while a study runs."""

from __future__ import annotations

from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from penstock.bench import Event
from penstock.cli.live import BLOCKS, Watcher, sparkline, spoken
from penstock.results import Run


@given(st.lists(st.floats(0, 1e9), max_size=30))
def test_a_sparkline_is_as_long_as_its_values_and_as_high_as_they_are(values):
    drawn = sparkline(values)
    assert len(drawn) == len(values)
    if values and max(values) > 0:
        assert drawn[values.index(max(values))] == BLOCKS[-1]


def test_durations_are_spoken():
    assert [spoken(seconds) for seconds in (5, 200, 7000)] == ["5 s", "3 min", "1 h 57 min"]


def test_off_a_terminal_every_run_is_a_line_with_its_rate_or_its_reason():
    out = StringIO()
    good = Run(cell="a", block=0, position=0, status="ok", values={"samples_per_second": 1234.0})
    bad = Run(cell="b", block=0, position=1, status="hung", message="words\nkilled after 600 s")
    with Watcher(Console(file=out, width=100)) as watch:
        for event in (
            Event("prepare", "a"),
            Event("begin", "a", 0, 2),
            Event("progress", "a", 0, 2, 100, 0.5),
            Event("progress", "a", 0, 2, 50, 0.5),
            Event("end", "a", 1, 2, run=good),
            Event("begin", "b", 1, 2),
            Event("end", "b", 2, 2, run=bad),
        ):
            watch(event)
    lines = out.getvalue().splitlines()
    assert lines == ["1/2 a: 1,234 samples per second  █▅", "2/2 b: hung: killed after 600 s"]


def test_on_a_terminal_the_line_says_which_run_how_fast_and_how_long_still():
    console = Console(file=StringIO(), width=100, force_terminal=True)
    watch = Watcher(console)
    watch(Event("begin", "a", 0, 3))
    watch(Event("end", "a", 1, 3, run=Run(cell="a", block=0, position=0, status="ok", values={"seconds": 1.0})))
    watch(Event("begin", "b", 1, 3))
    watch(Event("progress", "b", 1, 3, 300, 0.5))
    shown = str(watch._live.renderable)
    assert shown.startswith("run 2 of 3: b, about ")
    assert shown.endswith("s left  600/s █")
