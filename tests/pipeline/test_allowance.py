"""An allowance: what is taken at a time stays within it, one alone is let through, and nobody waits for ever."""

import threading

import pytest

from penstock.pipeline.allowance import Allowance
from penstock.pipeline.queue import Closed


def taking(allowance, size_bytes):
    """A thread that takes so many bytes, and an event for when it has them."""
    has = threading.Event()

    def take():
        try:
            allowance.take(size_bytes)
        except Closed:
            return
        has.set()

    thread = threading.Thread(target=take)
    thread.start()
    return thread, has


def test_who_wants_more_than_is_left_waits_until_it_is_given_back():
    allowance = Allowance(100)
    allowance.take(60)
    thread, has = taking(allowance, 50)
    allowance.take(40)
    assert not has.is_set()
    allowance.give_back(60)
    assert has.wait(10)
    thread.join(10)


def test_one_alone_is_let_through_whatever_its_size():
    allowance = Allowance(100)
    allowance.take(1000)
    allowance.give_back(1000)
    allowance.take(100)


def test_closing_ends_all_waits():
    allowance = Allowance(100)
    allowance.take(100)
    waiting = [taking(allowance, 1) for _ in range(3)]
    allowance.close()
    for thread, has in waiting:
        thread.join(10)
        assert not thread.is_alive()
        assert not has.is_set()
    with pytest.raises(Closed):
        allowance.take(1)
