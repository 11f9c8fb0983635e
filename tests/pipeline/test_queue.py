"""The ordered queue: numbers decide, bounds hold, and every wait ends."""

import threading
import time

import pytest

from penstock.pipeline.queue import Closed, Finished, OrderedQueue
from tests.threads import interrupted_elsewhere


def in_thread(function, *arguments):
    """Start a function in a thread; calling the result waits for it and gives its value or error."""
    outcome = []

    def run():
        try:
            outcome.append(function(*arguments))
        except (Closed, Finished) as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def wait():
        thread.join(10)
        assert not thread.is_alive()
        return outcome[0]

    return wait


def test_items_come_out_by_number_and_not_by_arrival():
    queue = OrderedQueue(3)
    for number in (2, 0, 1):
        queue.put(number, f"item {number}")
    assert [queue.get() for _ in range(3)] == [(0, "item 0"), (1, "item 1"), (2, "item 2")]


def test_an_item_beyond_the_depth_waits_until_there_is_room():
    queue = OrderedQueue(2)
    waiting = in_thread(queue.put, 2, "c")
    queue.put(0, "a")
    queue.put(1, "b")
    assert queue.get() == (0, "a")
    assert waiting() is None
    assert queue.get() == (1, "b")
    assert queue.get() == (2, "c")


def test_the_next_item_is_always_admitted():
    queue = OrderedQueue(1)
    waiting = in_thread(queue.put, 1, "b")
    queue.put(0, "a")
    assert queue.get() == (0, "a")
    assert queue.get(timeout_seconds=10) == (1, "b")
    waiting()


def test_past_the_last_item_the_queue_is_finished_for_all_who_take():
    queue = OrderedQueue(1)
    takers = [in_thread(queue.get) for _ in range(3)]
    queue.put(0, "a")
    queue.finish(1)
    outcomes = [taker() for taker in takers]
    assert outcomes.count((0, "a")) == 1
    assert sum(isinstance(outcome, Finished) for outcome in outcomes) == 2


def test_closing_ends_every_wait_and_lets_go_of_the_items():
    queue = OrderedQueue(1)
    taker = in_thread(queue.get)
    putter = in_thread(queue.put, 5, "f")
    queue.close()
    assert isinstance(taker(), Closed)
    assert isinstance(putter(), Closed)
    with pytest.raises(Closed):
        queue.get()


def test_a_wait_with_a_timeout_ends_by_it():
    with pytest.raises(TimeoutError):
        OrderedQueue(1).get(timeout_seconds=0.01)


def test_occupancy_is_the_share_that_lay_ready():
    queue = OrderedQueue(2)
    queue.put(0, "a")
    queue.put(1, "b")
    queue.get()  # two of two
    queue.get()  # one of two
    assert queue.occupancy == 0.75
    assert OrderedQueue(2).occupancy == 0


def test_a_ctrl_c_that_does_not_interrupt_the_consumers_wait_is_noticed_soon():
    queue = OrderedQueue(1)
    thread = interrupted_elsewhere(lambda: queue._arrived._waiters)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        queue.get(timeout_seconds=60)
    thread.join(10)
    assert time.monotonic() - began < 20
