"""What a reader should hold against a result before believing it. Pure; said beside the numbers, never hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.bench import ratios, standings

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["doubts"]

BUSY_LOAD = 0.7  # runnable processes before the race began, above which something else was at work
WIDE_SPREAD = 0.15
NOT_WARM = 0.02  # of the data's bytes, read from the device while the clock ran
LEVELS_APART = 6.0  # random crops alone move the mean level of a thousand images by less than this


def doubts(result: Mapping[str, Any]) -> list[str]:
    """List every reason to trust this race less, in whole sentences."""
    found = []
    rounds = result["rounds"]
    if rounds < 5:
        found.append(f"Only {rounds} round{'s' if rounds > 1 else ''}: a look, not a measurement (five or more).")
    load = result["machine"]["load_before"]
    if load > BUSY_LOAD:
        found.append(f"The machine was busy before the race began (load {load}).")
    for standing in standings(result):
        if standing.spread is not None and standing.spread > WIDE_SPREAD:
            found.append(f"{standing.peer}: rounds differ by {standing.spread:.0%} of the median.")
        if standing.failures:
            found.append(f"{standing.peer}: {len(standing.failures)} of {rounds} runs did not succeed.")
    found += _twins(result)
    read = [run["device_read_bytes"] for run in result["runs"] if run.get("device_read_bytes") is not None]
    if read and max(read) > NOT_WARM * result["data"]["bytes"]:
        found.append(f"Up to {max(read) / 1e6:.0f} MB came from the device while the clock ran: not all was cached.")
    agreement = result["agreement"]
    if len(agreement["digests"]) > 1:
        found.append("Not all peers delivered the same samples.")
    if agreement["level_spread"] and max(agreement["level_spread"]) > LEVELS_APART:
        found.append(f"Mean levels of red, green, blue differ between peers by {agreement['level_spread']}.")
    return found


def _twins(result: Mapping[str, Any]) -> list[str]:
    """Say what a peer raced against itself came to: this race's noise."""
    firsts = dict.fromkeys(peer.partition("#")[0] for peer in result["peers"] if "#" in peer)
    pairs = [(first, ratio) for first in firsts for ratio in ratios(result, first)]
    return [
        f"{first} against itself: {ratio.median:.3f}; a difference as small as that means nothing."
        for first, ratio in pairs
        if ratio.peer.partition("#")[0] == first
    ]
