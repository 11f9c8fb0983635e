"""Where in an epoch a run is, what it has delivered, and the state in which both are kept.

A state is small and JSON's: what the order depends on, the epoch, how many of its samples all ranks together have
consumed, whether that was the end of it, and a digest of the ids that this rank has delivered since it began or
resumed. Everything else (threads, memory, batch size, number of ranks) may be another in the run that goes on from it,
since none of it changes the order. Why the end is said: samples that were dropped there are a few batches for a run
with smaller ones, and would come as an epoch of their own.

The digest is a receipt: `verify_resume` computes the order anew and sees whether those were the samples delivered. It
begins with the place where they began: the order of storage is the same in every epoch, and a run that has delivered
nothing yet has a place, too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from penstock.order.share import Order

__all__ = ["Delivered", "Position", "State"]

FORMAT = 1
SPAN = 2**16  # ids computed at a time


@final
@dataclass(frozen=True, slots=True)
class Position:
    """A place between two samples of a run."""

    epoch: int = 0
    consumed: int = 0  # of the epoch's samples, by all ranks


@final
class Delivered:
    """A running digest of the ids that one rank was given, from a position on."""

    def __init__(self, start: Position) -> None:
        self.since = start.consumed
        self._hash = hashlib.blake2b(f"{start.epoch} {start.consumed}\n".encode(), digest_size=16)

    def add(self, ids: NDArray[np.int64]) -> None:
        """Note ids, in the order of their delivery."""
        self._hash.update(np.ascontiguousarray(ids, "<i8").data)

    def digest(self, *, ended: bool) -> str:
        """Give what stands for all ids so far, and for the end of the epoch if they came to it."""
        whole = self._hash.copy()
        whole.update(b"." if ended else b"")
        return whole.hexdigest()


@final
@dataclass(frozen=True, slots=True)
class State:
    """What `state_dict()` holds."""

    order: Mapping[str, Any]  # seed, settings of the shuffle, digest of the dataset
    position: Position
    ended: bool  # the epoch: what it has beyond the position was left out
    rank: int
    world_size: int
    since: int
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON's values."""
        delivered = {"rank": self.rank, "world_size": self.world_size, "since": self.since, "digest": self.digest}
        place = {"epoch": self.position.epoch, "consumed": self.position.consumed, "ended": self.ended}
        return {"format": FORMAT, "order": dict(self.order), **place, "delivered": delivered}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> State:
        """Take it from JSON's values."""
        try:
            if given["format"] != FORMAT:
                what = "the state was written by another version of penstock"
                raise UsageError(what, got=f"format {given['format']!r}", expected=f"format {FORMAT}")
            position = Position(index(given["epoch"]), index(given["consumed"]))
            rest = given["delivered"]
            rank, world_size, since = (index(rest[name]) for name in ("rank", "world_size", "since"))
            order, ended, digest = {**given["order"]}, bool(given["ended"]), str(rest["digest"])
        except (KeyError, TypeError) as error:
            raise UsageError("this is no state of a loader", got=f"{type(error).__name__}: {error}") from None
        if not (0 <= rank < world_size and 0 <= since <= position.consumed and position.epoch >= 0):
            got = f"rank {rank} of {world_size}, samples {since} to {position.consumed} of epoch {position.epoch}"
            raise UsageError("this is no state of a loader", got=got)
        return cls(order, position, ended, rank, world_size, since, digest)

    def check_order(self, expected: Mapping[str, Any]) -> None:
        """See that this is a state of a run with the same order."""
        for name in sorted({*self.order, *expected}):
            if (got := self.order.get(name)) != (wanted := expected.get(name)):
                what = f"the state is one of another order: {name} differs"
                hint = "resume with the dataset, seed and shuffle of the run that saved it"
                raise UsageError(what, got=f"{wanted} here", expected=f"{got}, as in the state", hint=hint)

    def check_extent(self, samples: int) -> None:
        """See that no more was consumed than there is."""
        if self.position.consumed > samples:
            what, got = "the state has consumed more than there is", self.position.consumed
            raise UsageError(what, got=got, expected=f"at most {samples}")

    def check_delivered(self, order: Order) -> None:
        """See that what was delivered is what the order gives this rank."""
        self.check_extent(len(order))
        delivered = Delivered(Position(self.position.epoch, self.since))
        first = self.since + (self.rank - self.since) % self.world_size
        for begin in range(first, self.position.consumed, SPAN * self.world_size):
            stop = min(begin + SPAN * self.world_size, self.position.consumed)
            delivered.add(order.at(np.arange(begin, stop, self.world_size, dtype=np.int64)))
        expected = delivered.digest(ended=self.ended)
        if self.digest != expected:
            raise UsageError(
                f"rank {self.rank} delivered other samples than its order has",
                got=f"digest {self.digest} of samples {self.since} to {self.position.consumed}",
                expected=f"digest {expected}",
                hint="the run skipped or repeated samples: do not go on from this state",
            )
