"""What a proxy does to the answers that pass it: how slow the line is, and how often which fault happens."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FAULTS", "KINDS", "Profile"]

KINDS: Final = (
    "silence",
    "refuse",
    "ignore_range",
    "wrong_range",
    "lengthen",
    "truncate",
    "reset",
    "stall",
    "drip",
    "flip",
)
"""The kinds of faults, each the name of a chance in `Profile`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A line and its faults. Delays and rates hold for every answer; a fault strikes a request by chance.

    The chances share one draw, so that a request meets one fault at most and they may add up to 1 at most. A fault that
    cannot be (a wrong Content-Range where there is none, a part of an empty body) does not happen, and is not counted.
    """

    latency_seconds: float = 0.0
    """Before every answer, on top of what the server takes."""
    tail_seconds: float = 0.0
    """Mean of an exponential delay on top of that: most answers come soon, a few late."""
    link_bytes_per_second: float | None = None
    """Of bodies, all connections together; heads are free."""
    connection_bytes_per_second: float | None = None
    """Of bodies, each connection for itself."""

    silence: float = 0.0
    """Chance that no answer ever comes; the connection stays open."""
    refuse: float = 0.0
    """Chance of one of `statuses` instead of the answer; the server never hears of the request."""
    ignore_range: float = 0.0
    """Chance of 200 and the whole object where a range was asked for. The range is in its place and the rest is zeros:
    the client signed its range, so the proxy cannot ask the server for more."""
    wrong_range: float = 0.0
    """Chance that Content-Range speaks of other bytes than those sent."""
    lengthen: float = 0.0
    """Chance that the body is longer than it should be, with a Content-Length to match."""
    truncate: float = 0.0
    """Chance that the connection is closed before the body has its Content-Length."""
    reset: float = 0.0
    """The same, by a reset."""
    stall: float = 0.0
    """Chance that the body stops midway; the connection stays open."""
    drip: float = 0.0
    """Chance that the body comes at `drip_bytes_per_second`."""
    flip: float = 0.0
    """Chance that one byte of the body is another."""

    statuses: tuple[int, ...] = (429, 500, 503)
    retry_after_seconds: int = 0
    drip_bytes_per_second: float = 1000.0
    every_method: bool = False
    """Whether faults strike every request; otherwise those by GET alone."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        chances = self.chances
        if not (all(0 <= chance <= 1 for chance in chances) and math.fsum(chances) <= 1 + 1e-9):
            raise UsageError(
                "chances of faults", got=f"{math.fsum(chances):g} in all", expected="0 to 1 each, and in all"
            )
        rates = (self.link_bytes_per_second, self.connection_bytes_per_second, self.drip_bytes_per_second)
        if not all(rate is None or rate > 0 for rate in rates):
            raise UsageError("rates of a line", got=rates, expected="bytes per second, or None for no bound")
        if self.latency_seconds < 0 or self.tail_seconds < 0 or not self.statuses:
            raise UsageError("a profile of faults", got=self, expected="delays of 0 or more, at least one status")

    @property
    def chances(self) -> tuple[float, ...]:
        """The chance of each of `KINDS`."""
        return tuple(getattr(self, kind) for kind in KINDS)

    def to_json(self) -> str:
        """Write it for a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Profile:
        """Read what `to_json` wrote; what is left out is as it is by default."""
        values = json.loads(text)
        unknown = set(values) - {field.name for field in fields(cls)}
        if unknown:
            raise UsageError("no such part of a profile", got=", ".join(sorted(unknown)))
        return cls(**{**values, "statuses": tuple(values.get("statuses", cls().statuses))})


CHANCE = 0.2  # of the one fault of a profile: three tries in a row fail in one request of 125


def _striking(kinds: Sequence[str], chance: float) -> Profile:
    chances: dict[str, Any] = dict.fromkeys(kinds, chance)
    return Profile(**chances)


FAULTS: Final[dict[str, Profile]] = {
    **{kind: _striking([kind], CHANCE) for kind in KINDS},
    "mixed": replace(_striking(KINDS, 0.02), latency_seconds=0.001, tail_seconds=0.002),
}
"""A profile for each kind of fault, and one with all of them: for tests that hold for any."""
