"""A run's way through the epochs: which order each has, where the next iteration begins, what has been delivered.

    course.start()        where an iteration begins; the next one will begin an epoch later
    course.legs(…)        what it goes through: the order of each epoch, and from where
    course.advance(…)     it has delivered a batch
    course.state()        all of that, to go on from in another process

An iteration is loaded ahead of its delivery. So there are two places: `next`, from which the next iteration will begin,
and the one that the consumer has come to, which alone goes into the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from penstock.errors import UsageError
from penstock.order.position import Delivered, Position, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from penstock.order.share import Order, Share
    from penstock.order.shuffle import Extent, Shuffle

__all__ = ["Course", "Leg", "Place", "check_states"]


@final
@dataclass(frozen=True, slots=True)
class Leg:
    """The part of an epoch that an iteration goes through."""

    epoch: int
    order: Order
    start: int
    stop: int


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A batch's place in a course: where the run is once it is delivered, and which samples it brings."""

    position: Position
    ids: NDArray[np.int64]  # without padding


@final
class Course:
    """The epochs of a dataset for one rank."""

    def __init__(self, shuffle: Shuffle, extent: Extent, *, seed: int, share: Share, dataset: str) -> None:
        self.share = share
        self.settings: dict[str, Any] = {"dataset": dataset, "seed": seed, **shuffle.settings(extent)}
        if "lanes" in self.settings:
            share.check(self.settings["lanes"])
        self._shuffle, self._extent, self._seed = shuffle, extent, seed
        self.samples = len(self.order(0))  # of an epoch
        self._next = self._here = Position()
        self._is_set = False  # somebody has said which epoch the next iteration is
        self._delivered = Delivered(self._here)

    def __len__(self) -> int:
        """Count the batches of a whole epoch."""
        return self.share.batches(self.samples)

    def order(self, epoch: int) -> Order:
        """Make the order of an epoch."""
        return self._shuffle.order(self._extent, self._seed, epoch)

    @property
    def next(self) -> Position:
        """Where the next iteration begins: in the next epoch, where a resumed one had come to its end."""
        return Position(self._next.epoch + 1) if self._has_ended(self._next) and not self._is_set else self._next

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is. The epoch that a state was loaded of goes on where it was."""
        if epoch != self._next.epoch:
            self._next = Position(epoch)
        self._is_set = True
        self._arrive(self._next)

    def start(self, epochs: int = 1) -> Position:
        """Begin an iteration over so many epochs."""
        position = self.next
        self._next, self._is_set = Position(position.epoch + epochs), False
        self._arrive(position)
        return position

    def legs(self, position: Position, epochs: int) -> Iterator[Leg]:
        """Yield what an iteration goes through."""
        start = position.consumed
        for epoch in range(position.epoch, position.epoch + epochs):
            yield Leg(epoch, self.order(epoch), start, self.share.stop(self.samples, start))
            start = 0

    def advance(self, place: Place) -> None:
        """Note that a batch was delivered."""
        if place.position.epoch != self._here.epoch:
            self._arrive(Position(place.position.epoch))
        self._here = place.position
        self._delivered.add(place.ids)

    def batches_left(self, epoch: int) -> int:
        """Count the batches of an epoch that are to be delivered yet."""
        if epoch < self._here.epoch:
            return 0
        return self.share.batches(self.samples, self._here.consumed if epoch == self._here.epoch else 0)

    def state(self) -> dict[str, Any]:
        """Give what another process needs to go on from here, as JSON's values."""
        rank, world_size, delivered = self.share.rank, self.share.world_size, self._delivered
        ended = self._has_ended(self._here)
        digest = delivered.digest(ended=ended)
        return State(self.settings, self._here, ended, rank, world_size, delivered.since, digest).to_dict()

    def load(self, given: Mapping[str, Any]) -> None:
        """Go on from a state."""
        state = State.from_dict(given)
        state.check_order(self.settings)
        state.check_extent(self.samples)
        place = Position(state.position.epoch, self.samples) if state.ended else state.position
        self._next, self._is_set = place, False
        self._arrive(place)

    def _has_ended(self, position: Position) -> bool:
        """Whether this is the end of an epoch that was begun."""
        return position.consumed > 0 and not self.share.batches(self.samples, position.consumed)

    def _arrive(self, position: Position) -> None:
        self._here, self._delivered = position, Delivered(position)


def check_states(course: Course, states: Sequence[Mapping[str, Any]]) -> None:
    """See that states belong to this course, that together they are one moment of it, and what each rank delivered.

    `states` are those that all ranks of a run saved after the same batch, or the one of a single rank.
    """
    found = [State.from_dict(given) for given in states]
    if not found:
        raise UsageError("there is no state to verify")
    for state in found:
        state.check_order(course.settings)
    moments = {(state.position, state.world_size) for state in found}
    if len(moments) > 1:
        got = [f"rank {state.rank} of {state.world_size} at {state.position}" for state in found]
        raise UsageError("the states are not of one moment", got="; ".join(got))
    ranks = sorted(state.rank for state in found)
    if len(found) > 1 and ranks != list(range(found[0].world_size)):
        raise UsageError("the states are not those of all ranks", got=ranks, expected=f"0 to {found[0].world_size - 1}")
    order = course.order(found[0].position.epoch)
    for state in found:
        state.check_delivered(order)
