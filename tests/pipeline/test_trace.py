"""The trace: what threads did, bounded, and nothing where there is none."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref

import pytest

from penstock.errors import UsageError
from penstock.pipeline import Pipeline, Stage, Trace
from penstock.pipeline.trace import CONSUMER
from penstock.pipeline.worker import blocked


def traced(count=6, **options):
    trace = Trace(**options)
    stages = [Stage("read", lambda item: item), Stage("decode", lambda item: item, threads=2)]
    assert list(Pipeline(range(count), stages, trace=trace)) == list(range(count))
    return trace


def test_every_item_is_worked_on_by_every_stage_and_waited_for_by_the_consumer():
    trace = traced()
    work = sorted((span.name, span.item) for span in trace.spans if span.kind == "work")
    assert work == sorted((stage, item) for stage in ("read", "decode") for item in range(6))
    waits = [span.item for span in trace.spans if span.kind == "wait"]
    assert waits == [0, 1, 2, 3, 4, 5, -1]  # the last one found that there is no more
    assert [span.item for span in trace.spans if span.kind == "step"] == [0, 1, 2, 3, 4, 5]


def test_spans_of_a_lane_never_overlap_unless_one_lies_in_the_other():
    trace = Trace()

    def wait(item):
        with blocked("waits for memory"):
            return item

    list(Pipeline(range(20), [Stage("read", wait, threads=3), Stage("decode", wait)], trace=trace))
    by_lane = {}
    for span in trace.spans:
        by_lane.setdefault(span.lane, []).append(span)
    assert set(by_lane) == {CONSUMER, *(f"penstock-read-{n}" for n in range(3)), "penstock-decode-0"}
    for spans in by_lane.values():
        for one, other in itertools.combinations(sorted(spans, key=lambda s: (s.began, -s.ended)), 2):
            assert other.began >= one.ended or other.ended <= one.ended


def test_the_iteration_names_its_stages_and_lanes_in_order():
    (lanes,) = traced().runs
    assert lanes.stages == (("read", ("penstock-read-0",)), ("decode", ("penstock-decode-0", "penstock-decode-1")))


def test_times_add_up_to_the_statistics():
    trace = Trace()
    with Pipeline(range(50), [Stage("read", lambda item: sum(range(2000)) + item)], trace=trace) as pipeline:
        for _ in range(50):
            next(pipeline)
        with pytest.raises(StopIteration):
            next(pipeline)
        (stage,) = pipeline.statistics()
        waited = pipeline.wait_seconds
    worked = sum(span.ended - span.began for span in trace.spans if span.kind == "work")
    assert worked == pytest.approx(stage.busy_seconds)
    assert sum(span.ended - span.began for span in trace.spans if span.kind == "wait") == pytest.approx(waited)


def test_the_newest_spans_are_kept_and_the_others_counted():
    whole, short = traced(30), traced(30, keep=10)
    assert len(short.spans) == 10
    assert short.dropped == len(whole.spans) - 10
    assert whole.dropped == 0


def test_queues_are_looked_at_whenever_the_consumer_asks():
    counts = traced(6).counts
    assert len(counts) == 7
    assert all(len(count.waiting) == 2 and 0 <= min(count.waiting) <= max(count.waiting) <= 2 for count in counts)


def test_a_loop_may_add_spans_of_its_own():
    trace = Trace()
    with trace.span("forward"), trace.span("loss"):
        pass
    inner, outer = trace.spans
    assert (inner.name, outer.name) == ("loss", "forward")
    assert outer.began <= inner.began <= inner.ended <= outer.ended
    assert inner.lane == threading.current_thread().name


def test_an_error_ends_the_trace_with_the_wait_for_it():
    trace = Trace()

    def fail(item):
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        list(Pipeline(range(3), [Stage("read", fail)], trace=trace))
    assert [span.item for span in trace.spans if span.kind == "wait"] == [0]


def test_a_trace_keeps_no_pipeline_alive():
    trace = Trace()
    pipeline = Pipeline(range(3), [Stage("read", lambda item: item)], trace=trace)
    gone = weakref.ref(pipeline)
    next(pipeline)
    del pipeline
    gc.collect()
    assert gone() is None


def test_a_trace_keeps_something():
    with pytest.raises(UsageError, match="at least one span"):
        Trace(keep=0)
