"""States survive JSON, know their order, and their digests tell what was delivered."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.order import Permutation
from penstock.order.position import Delivered, Position, State
from penstock.order.sequential import Sequential
from penstock.order.share import Share

ORDER = {"shuffle": "full", "samples": 1000, "seed": 3}


def delivered_by(rank, world_size, *, since=0, batches=3, batch_size=5):
    """The state of a rank after some batches."""
    order, delivered = Permutation(1000, 9), Delivered(Position(2, since))
    (slab, *_) = Share(batch_size, rank, world_size).slabs(1000, since)
    consumed = since
    for part, stop, _ in list(slab.batches())[:batches]:
        delivered.add(order.at(slab.positions[part]))
        consumed = stop
    return State(ORDER, Position(2, consumed), False, rank, world_size, since, delivered.digest(ended=False))


@given(st.integers(1, 7), st.integers(0, 500), st.integers(0, 9), st.integers(1, 9), st.data())
def test_a_digest_is_that_of_the_order_whatever_the_batches(world_size, since, batches, batch_size, data):
    rank = data.draw(st.integers(0, world_size - 1))
    state = delivered_by(rank, world_size, since=since, batches=batches, batch_size=batch_size)
    given_back = State.from_dict(json.loads(json.dumps(state.to_dict())))
    assert given_back == state
    given_back.check_delivered(Permutation(1000, 9))


@pytest.mark.parametrize(
    "change",
    [
        {"since": 10},
        {"rank": 1},
        {"position": Position(2, 20)},
        {"position": Position(1, 30)},
        {"ended": True},
        {"digest": "00"},
    ],
)
def test_a_digest_of_other_samples_is_refused(change):
    state = delivered_by(0, 2)
    fields = {name: getattr(state, name) for name in State.__slots__}
    with pytest.raises(UsageError, match="delivered other samples"):
        State(**{**fields, **change}).check_delivered(Permutation(1000, 9))
    with pytest.raises(UsageError, match="delivered other samples"):
        state.check_delivered(Permutation(1000, 8))


@pytest.mark.parametrize("stop", [10, 25])
def test_a_digest_tells_places_apart_whose_samples_are_the_same(stop):
    order, delivered = Sequential(100), Delivered(Position(2, 10))
    delivered.add(order.at(np.arange(10, stop)))
    digest = delivered.digest(ended=False)
    State({}, Position(2, stop), False, 0, 1, 10, digest).check_delivered(order)
    with pytest.raises(UsageError, match="delivered other samples"):
        State({}, Position(1, stop), False, 0, 1, 10, digest).check_delivered(order)
    with pytest.raises(UsageError, match="delivered other samples"):
        State({}, Position(2, stop + 1), False, 0, 1, 11, digest).check_delivered(order)


def test_a_state_of_more_samples_than_the_order_has_is_refused():
    with pytest.raises(UsageError, match="got 1001, expected at most 1000"):
        State(ORDER, Position(2, 1001), False, 0, 1, 0, "00").check_delivered(Permutation(1000, 9))


def test_long_runs_are_checked_piece_by_piece():
    order, delivered = Permutation(300_000, 9), Delivered(Position())
    delivered.add(order.at(np.arange(1, 300_000, 2)))
    State({}, Position(0, 300_000), True, 1, 2, 0, delivered.digest(ended=True)).check_delivered(order)


def test_a_state_of_another_order_is_refused_and_the_difference_named():
    state = delivered_by(0, 1)
    state.check_order(ORDER)
    with pytest.raises(UsageError, match="seed differs: got 4 here, expected 3, as in the state"):
        state.check_order({**ORDER, "seed": 4})


@pytest.mark.parametrize("given_state", [{}, {"format": 1}, {"format": 99}, {"format": 1, "order": None, "epoch": []}])
def test_what_is_no_state_is_refused(given_state):
    with pytest.raises(UsageError, match=r"no state|another version"):
        State.from_dict(given_state)


@pytest.mark.parametrize(
    "change",
    [
        {"epoch": "2"},
        {"epoch": -1},
        {"consumed": 1.5},
        {"consumed": -1},
        {"order": "full"},
        {"order": [1]},
        {"delivered": []},
    ],
)
def test_a_state_with_a_part_that_cannot_be_is_none(change):
    with pytest.raises(UsageError, match="no state of a loader"):
        State.from_dict({**delivered_by(0, 2).to_dict(), **change})


@pytest.mark.parametrize("change", [{"since": -5}, {"since": 31}, {"rank": 2}, {"rank": -1}, {"world_size": 0}])
def test_a_state_of_a_rank_or_place_that_cannot_be_is_none(change):
    state = delivered_by(0, 2).to_dict()
    with pytest.raises(UsageError, match=r"no state of a loader: got rank -?\d of \d, samples -?\d+ to 30"):
        State.from_dict({**state, "delivered": {**state["delivered"], **change}})
