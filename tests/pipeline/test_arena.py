"""An arena: slots that nobody shares, waits that end, memory as reading past the page cache needs it."""

import threading

import pytest

from penstock.pipeline.arena import Arena, arena_memory
from penstock.pipeline.queue import Closed


def test_slots_are_apart_and_aligned():
    arena = Arena(arena_memory(3 * 8192), 8192)
    numbers = [arena.take() for _ in range(3)]
    starts = sorted(arena.slot(number).ctypes.data for number in numbers)
    assert starts[1] - starts[0] == starts[2] - starts[1] == 8192
    assert starts[0] % 4096 == 0
    assert {len(arena.slot(number)) for number in numbers} == {8192}


def test_who_finds_no_slot_gets_the_next_that_comes_back():
    arena = Arena(arena_memory(4096), 4096)
    first = arena.take()
    got = []
    waiter = threading.Thread(target=lambda: got.append(arena.take()))
    waiter.start()
    arena.give_back(first)
    waiter.join(10)
    assert got == [first]


def test_closing_ends_a_wait_and_every_later_one():
    arena = Arena(arena_memory(4096), 4096)
    arena.take()
    ended = []

    def wait():
        with pytest.raises(Closed):
            arena.take()
        ended.append(True)

    waiter = threading.Thread(target=wait)
    waiter.start()
    arena.close()
    waiter.join(10)
    assert ended == [True]
    with pytest.raises(Closed):
        arena.take()
