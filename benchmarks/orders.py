"""What orders cost and what they are worth on many ranks, from a million samples to a billion: a simulation.

    python benchmarks/orders.py --out benchmarks/results/orders.json

Nothing is read: an order knows no more of a dataset than how many samples it has and how large they are on average
(here 110 kB, with 1.5 kB of tar header and label between them, in shards of 256 MiB). For each number of samples, of
ranks and each order, on one rank:

    first batch, further   processor time to plan it: from the settings to its ids and, in window order, to the contents
                           of the windows that it opens; then the mean over batches that follow. Median of the rounds
    planning               peak memory of that, by tracemalloc, in a run of its own: until as many windows were opened
                           as the order keeps, or to the end of the epoch
    reading                memory for the windows that are open and read ahead
    read, request          what a rank reads, in multiples of the bytes of its samples, and how much at a time: from
                           the reads of some of its windows (batches, in full order), planned as the loader plans them
    block                  how likely two samples of a rank's batch of 256, and of all ranks' together, come from the
                           same block of 4 MiB
    classes, run           in a rank's batch, and of one class in a row on a rank, if the dataset is sorted by 1,000
                           classes; see src/penstock/order/quality.py

Windows are either of 256 MiB in all, the default, or of 256 MiB on each rank; there are 1,024 lanes. Full order shows
what is uniform.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench.machine import describe, versions
from penstock.order import Extent, FullShuffle, Permutation, WindowOrder, WindowShuffle
from penstock.order.quality import SAMPLES, Classes, Excerpt, uniform_quality
from penstock.order.share import Share
from penstock.reading import AHEAD, ALIGNMENT, slots_needed
from penstock.storage.ranges import plan_reads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from penstock.order import Shuffle
    from penstock.order.share import Order

SAMPLE_BYTES = 110_000
BETWEEN_BYTES = 1_536
SHARD_SAMPLES = 256 * 2**20 // (SAMPLE_BYTES + BETWEEN_BYTES)
LANES = 1024
WINDOW_BYTES = 256 * 2**20
BATCH_SIZE = 256
CLASSES = 1000
FURTHER = 100  # batches whose planning is timed
LOOKED_AT = 64  # windows, or batches, whose reads are planned


def ways(ranks: int) -> dict[str, Shuffle]:
    """Name the orders that are compared."""
    return {
        "256 MiB in all": WindowShuffle(lanes=LANES, window_bytes=WINDOW_BYTES),
        "256 MiB a rank": WindowShuffle(lanes=LANES, window_bytes=WINDOW_BYTES * ranks),
        "full": FullShuffle(),
    }


def planned(way: Shuffle, extent: Extent, share: Share, epoch: int) -> Iterator[int]:
    """Plan a rank's batches of an epoch, as loading them would; yield how many windows each has opened."""
    order = way.order(extent, 0, epoch)
    opened: set[int] = set()
    for slab in share.slabs(len(order)):
        order.at(slab.positions)
        for part, _, _ in slab.batches():
            before = len(opened)
            if isinstance(order, WindowOrder):
                numbers, _ = order.windows(slab.positions[part])
                for number in sorted(set(numbers.tolist()) - opened):
                    order.contents(number)
                    opened.add(number)
            yield len(opened) - before


def times(way: Shuffle, extent: Extent, share: Share, epoch: int) -> dict[str, float]:
    """Take the processor time of the first batch and of those that follow it: other programs take none of that."""
    begin = time.process_time()
    batches = planned(way, extent, share, epoch)
    next(batches)
    first = time.process_time()
    further = sum(1 for _ in islice(batches, FURTHER))
    end = time.process_time()
    return {"first_batch_seconds": first - begin, "further_batch_seconds": (end - first) / max(further, 1)}


def planning_bytes(way: Shuffle, extent: Extent, share: Share) -> int:
    """Measure the peak of what planning holds."""
    tracemalloc.start()
    opened = 0
    for number, count in enumerate(planned(way, extent, share, 0)):
        opened += count
        if opened > 2 * LANES or (opened == 0 and number == FURTHER):
            break
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak_bytes


def reads(order: Order, share: Share) -> dict[str, float]:
    """Plan the reads of some of a rank's windows, or batches, from all over the epoch."""
    step = share.batch_size * share.world_size
    whole = len(order) // step
    begins = np.unique(np.arange(LOOKED_AT) * whole // LOOKED_AT) * step + share.rank
    if isinstance(order, WindowOrder):
        some = [order.contents(number)[1] for number in np.unique(order.windows(begins)[0]).tolist()]
        alignment = ALIGNMENT
    else:
        some = [order.at(begin + share.world_size * np.arange(share.batch_size)) for begin in begins.tolist()]
        alignment = 1
    plans = [plan_reads(*places(ids), alignment=alignment) for ids in some]
    requested = sum(plan.block_bytes for plan in plans)
    return {
        "read_of_share": requested / (sum(len(ids) for ids in some) * SAMPLE_BYTES),
        "request_bytes": requested / sum(len(plan) for plan in plans),
    }


def places(ids: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Say where samples would lie: file, offset, length."""
    file, within = np.divmod(ids, SHARD_SAMPLES)
    return file.astype(np.int32), within * (SAMPLE_BYTES + BETWEEN_BYTES), np.full(len(ids), SAMPLE_BYTES)


def quality(order: Order, block: int, share: Share) -> dict[str, Any]:
    """Judge the batches of a rank, and those of all ranks together."""
    classes, samples = Classes.sorted(len(order), CLASSES), SAMPLES if isinstance(order, WindowOrder) else 2**18
    found: dict[str, Any] = {}
    views = {"rank": (share.batch_size, share.world_size), "all": (share.batch_size * share.world_size, 1)}
    for name, (batch_size, world_size) in views.items():
        begin = time.perf_counter()
        excerpt = Excerpt.of(order, batch_size=batch_size, world_size=world_size, samples=samples)
        judged = asdict(excerpt.quality(block=block, classes=classes))
        seconds = time.perf_counter() - begin
        shape = {"batch_size": batch_size, "world_size": world_size}
        uniform = asdict(uniform_quality(len(order), block=block, classes=classes, **shape))
        found[name] = {"order": judged, "uniform": uniform, "seconds": seconds}
    return found


def row(name: str, way: Shuffle, samples: int, ranks: int, rounds: int) -> dict[str, Any]:
    """Measure one order of one dataset on one number of ranks."""
    extent = Extent(samples, samples * SAMPLE_BYTES)
    # A rank in the middle: the first windows of the first lanes are shorter than others.
    share = Share(BATCH_SIZE, ranks // 2, ranks)
    timed = [times(way, extent, share, epoch) for epoch in range(rounds)]
    order = way.order(extent, 0, 0)
    block = WindowShuffle().settings(extent)["block"]
    reading = 0
    if isinstance(order, WindowOrder):
        slots = slots_needed(order.lanes // ranks, order.window_samples, BATCH_SIZE) + AHEAD
        reading = slots * order.window_samples * (SAMPLE_BYTES + BETWEEN_BYTES)
    return {
        "samples": samples,
        "ranks": ranks,
        "order": name,
        "settings": way.settings(extent),
        "rounds": timed,
        **{field: median(one[field] for one in timed) for field in timed[0]},
        "planning_peak_bytes": planning_bytes(way, extent, share),
        "reading_bytes": reading,
        "share_bytes": samples / ranks * SAMPLE_BYTES,
        **reads(order, share),
        "quality": quality(order, block, share),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Lay the rows out in Markdown."""
    names = (
        "samples",
        "ranks",
        "order",
        "first batch, ms",
        "further, ms",
        "planning, MB",
        "reading, MB",
        "read, share",
    )
    names += ("request, MB", "block: a rank", "block: all", "classes", "run")
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for one in rows:
        rank, every = (one["quality"][view]["order"] for view in ("rank", "all"))
        cells = (
            f"10^{len(str(one['samples'])) - 1}",
            f"{one['ranks']:,}",
            one["order"],
            shown(one["first_batch_seconds"] * 1e3),
            shown(one["further_batch_seconds"] * 1e3),
            shown(one["planning_peak_bytes"] / 1e6),
            f"{one['reading_bytes'] / 1e6:,.0f}",
            f"{one['read_of_share']:.2f}",
            shown(one["request_bytes"] / 1e6),
            odds(rank["same_block"]),
            odds(every["same_block"]),
            f"{rank['classes_seen']:.0f}",
            f"{rank['class_run']:.2f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def odds(share: float) -> str:
    """Write a small probability."""
    return f"1 in {shown(1 / share)}" if share else "none seen"


def shown(value: float) -> str:
    """Write a number with two digits."""
    return f"{float(f'{value:.2g}'):,.10g}"


def main() -> None:
    """Measure every row, write them, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--samples", type=int, nargs="+", default=[10**6, 10**8, 10**9])
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 64, 1024])
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    machine = describe()
    Permutation(10**6, 0)[:1]  # what a process does once
    rows = [
        row(name, way, samples, ranks, args.rounds)
        for samples in args.samples
        for ranks in args.ranks
        for name, way in ways(ranks).items()
    ]
    result = {
        "format": 1,
        "kind": "orders",
        "machine": machine,
        "versions": versions(("penstock", "numpy")),
        "sample_bytes": SAMPLE_BYTES,
        "lanes": LANES,
        "batch_size": BATCH_SIZE,
        "classes": CLASSES,
        "rows": rows,
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
