"""What the runs of a race say: a standing per peer, and the ratio of two peers. Pure.

A rate is total samples over total seconds of one run, never a mean of rates. A peer's standing is the median of its
rounds with the lowest and the highest. Two peers are compared within rounds: the log of the ratio of their rates, its
mean, and a 95 % interval from Student's t. Five rounds whose ratios scatter by 1 % give an interval of about ±1.3 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any

from penstock.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Ratio", "Standing", "ratios", "standings"]

# Student's t, two-sided 95 %, by degrees of freedom from 1; from 30 on it is near enough to 2.
STUDENT_T = (
    *(12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """One peer over all rounds; the numbers are None when no run of it succeeded."""

    peer: str
    label: str
    rates: tuple[float, ...]  # samples per second, by round, of the runs that succeeded
    failures: tuple[str, ...]  # what the others said
    rate: float | None  # median
    cpu_seconds_per_thousand: float | None  # processor seconds per 1,000 samples, median
    memory_bytes: float | None  # proportional set size at the end, workers included, median
    first_batch_seconds: float | None  # from constructing the loader to its first batch, median
    form_bytes: int | None  # size of the peer's own form of the data; None: it reads the folder

    @property
    def spread(self) -> float | None:
        """Highest less lowest rate, as a share of the median; large: the rounds do not agree, trust ratios only."""
        return (max(self.rates) - min(self.rates)) / self.rate if self.rate else None


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times faster `peer` is than `against`, over the rounds where both succeeded."""

    peer: str
    against: str
    by_round: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the rounds' ratios: the headline."""
        return median(self.by_round)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the geometric mean; None with fewer than three rounds: no inference from so few."""
        if len(self.by_round) < 3:
            return None
        logs = [math.log(ratio) for ratio in self.by_round]
        t = STUDENT_T[len(logs) - 2] if len(logs) - 2 < len(STUDENT_T) else 2.0
        half = t * stdev(logs) / math.sqrt(len(logs))
        return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def _median(runs: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [run[name] for run in runs if run.get(name) is not None]
    return median(values) if values else None


def standings(result: Mapping[str, Any]) -> list[Standing]:
    """Sum up each peer of a race, fastest first, those that never succeeded last."""
    if result.get("format") != 1 or result.get("kind") != "race":
        raise FormatError(
            "a race's result", got=f"{result.get('kind')} format {result.get('format')}", expected="race format 1"
        )
    found = []
    for peer in result["peers"]:
        runs = [run for run in result["runs"] if run["peer"] == peer]
        good = [run for run in runs if run["status"] == "ok"]
        costs = [{"cpu": run["cpu_seconds"] / run["samples"] * 1000} for run in good if run["cpu_seconds"] is not None]
        found.append(
            Standing(
                peer=peer,
                label=good[0]["label"] if good else peer,
                rates=tuple(run["rate"] for run in good),
                failures=tuple(f"{run['status']}: {run['message']}" for run in runs if run["status"] != "ok"),
                rate=_median(good, "rate"),
                cpu_seconds_per_thousand=_median(costs, "cpu"),
                memory_bytes=_median(good, "memory_bytes"),
                first_batch_seconds=_median(good, "first_batch_seconds"),
                form_bytes=result["prepared"][peer.partition("#")[0]].get("form_bytes"),
            )
        )
    return sorted(found, key=lambda standing: -(standing.rate or 0.0))


def ratios(result: Mapping[str, Any], against: str) -> list[Ratio]:
    """Compare every other peer with `against`, in the order of the standings.

    A peer without a round in which both succeeded is left out.
    """
    rates = {(run["round"], run["peer"]): run["rate"] for run in result["runs"] if run["status"] == "ok"}
    found = []
    for standing in standings(result):
        common = [
            number for number in range(result["rounds"]) if {(number, standing.peer), (number, against)} <= rates.keys()
        ]
        if common and standing.peer != against:
            by_round = tuple(rates[number, standing.peer] / rates[number, against] for number in common)
            found.append(Ratio(standing.peer, against, by_round))
    return found
