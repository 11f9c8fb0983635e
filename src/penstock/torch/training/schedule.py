"""Learning rates over a run. Pure: a rate for each point in time, counted in epochs, fractions included.

    cosine        half a cosine from the base rate to the end rate
    linear        a straight line between the two
    step          a tenth after a third, two thirds, and eight ninths of the run
    exponential   the same factor for each epoch, down to a thousandth

With warm-up, the rate first rises in a straight line from 0, and the policy runs over what is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from penstock.errors import UsageError

__all__ = ["POLICIES", "Policy", "Schedule"]

Policy = Literal["cosine", "linear", "step", "exponential"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

_STEPS = (1 / 3, 2 / 3, 8 / 9)  # of 90 epochs: 30, 60, 80
_LEAST = 1e-3


@dataclass(frozen=True, slots=True)
class Schedule:
    """The learning rate of a run of so many epochs."""

    policy: Policy
    base: float
    epochs: float
    warmup: float = 0.0
    end: float = 0.0

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise UsageError("the policy is unknown", got=repr(self.policy), expected=", ".join(POLICIES))
        if not 0 <= self.warmup < max(self.epochs, 1e-9):
            raise UsageError(
                "warm-up is a part of the run", got=self.warmup, expected=f"less than {self.epochs} epochs"
            )

    def rate(self, epoch: float) -> float:
        """Give the rate at a point in time: 2.5 is the middle of the third epoch."""
        if epoch < self.warmup:
            return self.base * epoch / self.warmup
        done = min((epoch - self.warmup) / (self.epochs - self.warmup), 1.0)
        if self.policy == "cosine":
            return self.end + (self.base - self.end) * (1 + math.cos(math.pi * done)) / 2
        if self.policy == "linear":
            return self.base + (self.end - self.base) * done
        if self.policy == "step":
            return max(self.base * math.pow(0.1, sum(done >= step for step in _STEPS)), self.end)
        return max(self.base * math.pow(_LEAST, done), self.end)
