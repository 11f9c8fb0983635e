"""Learning rates over a run: a rate for each point in time, counted in epochs, fractions included.

`Schedule` is pure, by one of these policies:

    cosine        half a cosine from the base rate to the end rate
    linear        a straight line between the two
    step          a tenth after a third, two thirds, and eight ninths of the run
    exponential   the same factor for each epoch, down to a thousandth

With warm-up, the rate first rises in a straight line from 0, and the policy runs over what is left.

`Plateau` looks at the loss of validations instead: three in a row that are no better, and the rate goes down to 0.6 of
what it was, until it would be less than the last rate; then the run is over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol, final, get_args

from penstock.errors import UsageError

__all__ = ["POLICIES", "Plateau", "Policy", "Rates", "Schedule"]

Policy = Literal["cosine", "linear", "step", "exponential"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

_STEPS = (1 / 3, 2 / 3, 8 / 9)  # of 90 epochs: 30, 60, 80
_LEAST = 1e-3


class Rates(Protocol):
    """What gives learning rates."""

    def rate(self, epoch: float) -> float:
        """Give the rate at a point in time."""
        ...


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


@final
@dataclass(slots=True)
class Plateau:
    """A rate that goes down where validations show no progress."""

    base: float
    last: float = 0.0
    factor: float = 0.6
    patience: int = 3
    best: float = math.inf
    worse: int = 0  # validations since the best one
    now: float = -1.0

    def __post_init__(self) -> None:
        if not (0 < self.factor < 1 and self.patience >= 1 and 0 <= self.last <= self.base):
            got = f"factor {self.factor}, patience {self.patience}, rates {self.base} to {self.last}"
            raise UsageError("this is no decay", got=got, expected="a factor below 1, some patience, a last rate below")
        self.now = self.base if self.now < 0 else self.now

    @property
    def is_over(self) -> bool:
        """Whether the rate has come down to the last one."""
        return self.now < self.last

    def rate(self, epoch: float) -> float:
        """Give the rate as it is now."""
        del epoch
        return self.now

    def observe(self, loss: float) -> None:
        """Take the loss of a validation into account."""
        self.worse = 0 if loss < self.best else self.worse + 1
        self.best = min(loss, self.best)
        if self.worse >= self.patience:
            self.now, self.worse = self.now * self.factor, 0

    def state_dict(self) -> dict[str, Any]:
        """Say where it is."""
        return {"now": self.now, "best": self.best, "worse": self.worse}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.now, self.best, self.worse = state["now"], state["best"], state["worse"]
