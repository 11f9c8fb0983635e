"""A course: iterations follow one another, a state goes on where its run was, and states are checked against it."""

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.order.course import Course, Place, check_states
from penstock.order.position import Position
from penstock.order.share import Share
from penstock.order.shuffle import Extent, FullShuffle, WindowShuffle

EXTENT = Extent(100, 10_000)


def course(rank=0, world_size=1, *, batch_size=10, last="short", seed=3, shuffle=None):
    way = shuffle or FullShuffle()
    return Course(way, EXTENT, seed=seed, share=Share(batch_size, rank, world_size, last), dataset="abc")


def run(course, batches, epochs=1):
    """Go through an iteration's first batches as a loader does; the ids."""
    ids = []
    for leg in course.legs(course.start(epochs), epochs):
        for slab in course.share.slabs(course.samples, leg.start):
            for part, stop, _ in slab.batches():
                if len(ids) == batches:
                    return ids
                ids.append(leg.order.at(slab.positions[part]).tolist())
                course.advance(Place(Position(leg.epoch, stop), np.array(ids[-1])))
    return ids


def test_each_iteration_is_the_next_epoch():
    there = course()
    first, second = run(there, 10), run(there, 10)
    assert first != second
    assert there.next == Position(2)
    there.set_epoch(0)
    assert run(there, 10) == first
    assert there.next == Position(1)


def test_a_state_goes_on_where_the_run_was():
    whole, there = run(course(), 10), course()
    before = run(there, 4)
    resumed = course(batch_size=5)
    resumed.load(there.state())
    after = run(resumed, 100)
    assert np.concatenate(before + after).tolist() == np.concatenate(whole).tolist()
    assert resumed.next == Position(1)


def test_a_state_may_be_loaded_before_or_after_the_epoch_is_set():
    there = course()
    run(there, 4)
    for is_first in (True, False):
        resumed = course()
        if is_first:
            resumed.set_epoch(0)
        resumed.load(there.state())
        if not is_first:
            resumed.set_epoch(0)
        assert resumed.next == Position(0, 40)


def test_an_epoch_that_was_finished_is_over():
    there = course()
    run(there, 10)
    resumed = course()
    resumed.load(there.state())
    assert resumed.next == Position(1)
    resumed.set_epoch(0)  # as a script does that begins with the epoch of its checkpoint
    assert run(resumed, 10) == []
    assert resumed.next == Position(1)


def test_an_iteration_may_go_through_several_epochs():
    there = course()
    both = run(there, 20, epochs=2)
    assert both == run(again := course(), 10) + run(again, 10)
    assert there.next == Position(2)
    assert [there.batches_left(epoch) for epoch in range(3)] == [0, 0, 10]


def test_what_is_dropped_ends_an_epoch():
    there = course(batch_size=30, last="drop")
    assert len(run(there, 10)) == len(there) == 3
    assert there.batches_left(0) == 0
    for batch_size, last in ((30, "drop"), (5, "drop"), (30, "short")):  # nor are they caught up on by smaller batches
        resumed = course(batch_size=batch_size, last=last)
        resumed.load(there.state())
        assert resumed.next == Position(1)
        check_states(resumed, [there.state()])
        check_states(resumed, [resumed.state()])


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_states_of_all_ranks_are_verified(world_size):
    there = [course(rank, world_size) for rank in range(world_size)]
    for one in there:
        run(one, 2)
    states = [one.state() for one in there]
    check_states(course(), states)
    states[-1]["delivered"]["digest"] = "0" * 32
    with pytest.raises(UsageError, match=f"rank {world_size - 1} delivered other samples"):
        check_states(course(), states)


def test_states_that_do_not_belong_together_are_refused():
    one, other = course(0, 2), course(1, 2)
    run(one, 2), run(other, 3)
    with pytest.raises(UsageError, match="not of one moment"):
        check_states(course(), [one.state(), other.state()])
    with pytest.raises(UsageError, match=r"not those of all ranks: got \[0, 0\]"):
        check_states(course(), [one.state(), one.state()])
    with pytest.raises(UsageError, match="seed differs"):
        check_states(course(seed=4), [one.state()])
    with pytest.raises(UsageError, match="no state"):
        check_states(course(), [])


def test_a_state_of_more_samples_than_there_are_is_refused():
    there = course()
    with pytest.raises(UsageError, match="got 101, expected at most 100"):
        there.load({**there.state(), "consumed": 101})


def test_lanes_that_ranks_cannot_share_are_refused():
    with pytest.raises(UsageError, match="16 lanes cannot be shared out"):
        course(world_size=3, shuffle=WindowShuffle())
    assert course(world_size=3).settings == {"dataset": "abc", "seed": 3, "shuffle": "full", "samples": 100}
