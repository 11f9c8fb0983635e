"""One sentence on why training waits, or that it does not, from what was measured of an epoch.

Waits count from where the trainer stands: a stage that works all the time holds it up only if the trainer waits. Below
a few percent of waiting nothing is worth changing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.loader import LoaderStatistics
    from penstock.torch.training.meters import Progress

__all__ = ["verdict"]

_WAITS = 0.05  # of the time: more, and loading holds training back
_START = 0.5  # of the waiting: more in one wait, and it is that one

_REMEDIES = {
    "read": "the medium is too slow: pack the data, read it in window order, keep it in a cache, or raise `memory`",
    "arrive": "the store is too slow: look at `penstock probe`, keep the data in a cache, or raise `memory`",
    "decode": "decoding is: give it more cores, pack the data (crops of tiles decode faster), or store smaller images",
    "deliver": "the copy to the device is: take larger batches, or images as uint8",
}


def verdict(progress: Progress, statistics: LoaderStatistics) -> str:
    """Say what held an epoch back."""
    share = progress.stall_share
    if share < _WAITS:
        return f"training waits for data {share:.1%} of the time: loading does not hold it back"
    if progress.stall_seconds > _START * progress.data_time.total:
        where = "the first batch: starting" if progress.stall_step == 0 else f"step {progress.stall_step}"
        return (
            f"training waits for data {share:.1%} of the time, most of it ({progress.stall_seconds:.2f} s) for {where}"
        )
    busiest = max(statistics.stages, key=lambda stage: stage.busy_seconds / max(stage.threads, 1), default=None)
    reason = _REMEDIES.get(busiest.name, f"the stage {busiest.name} is the busiest") if busiest else "no stage says why"
    return f"training waits for data {share:.1%} of the time, and {reason}"
