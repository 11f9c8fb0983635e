"""What a trace costs: epochs of one loader with and without it, in blocks, and without it against itself.

    python benchmarks/tracing.py PHOTOS.pen --blocks 20 --out benchmarks/results/tracing.json
    penstock report benchmarks/results/tracing.json --against untraced

Each block loads one epoch in each of three ways, in an order drawn anew: without a trace, without one once more (what
these two differ by is noise), and with one. All in one process, page cache warm, after an epoch that is not counted.
Batches are small, for a trace costs by the batch. The machine must be quiet.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace
from pathlib import Path

import penstock
from penstock.bench.machine import describe
from penstock.loader import Loader
from penstock.results import Cell, Epoch, Result, Run, System, write
from penstock.results.validity import findings
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

WAYS = {"untraced": False, "untraced#2": False, "traced": True}


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", help="a packed dataset, or a folder of images")
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    dataset, draws, runs = penstock.open(options.data), random.Random(options.seed), []  # noqa: S311 an order of work
    epoch(dataset, options, is_traced=False)
    for block in range(options.blocks):
        for position, name in enumerate(draws.sample(list(WAYS), len(WAYS))):
            seconds, spans = epoch(dataset, options, is_traced=WAYS[name])
            samples = len(dataset)
            values = {"samples": samples, "seconds": seconds, "samples_per_second": samples / seconds}
            counted = (Epoch(samples=samples, seconds=seconds, counted=True),)
            said = {"spans": spans}
            run = Run(cell=name, block=block, position=position, status="ok", values=values, epochs=counted, raw=said)
            runs.append(run)
    result = Result(
        kind="bench",
        title="What a trace costs",
        command=f"python benchmarks/tracing.py {Path(options.data).name} --blocks {options.blocks}",
        primary="samples_per_second",
        systems=tuple(
            System(name=name, peer=name.partition("#")[0], label=name.partition("#")[0], kind="ours") for name in WAYS
        ),
        cells=tuple(Cell(name=name, system=name) for name in WAYS),
        runs=tuple(runs),
        blocks=options.blocks,
        seed=options.seed,
        manifest={"machine": describe(), "data": {"name": Path(options.data).name, "samples": len(dataset)}},
        work={"batch_size": options.batch_size, "size": options.size},
    )
    write(replace(result, findings=findings(result)), options.out)


def epoch(dataset: penstock.Dataset, options: argparse.Namespace, *, is_traced: bool) -> tuple[float, int]:
    """Load one epoch; the seconds it took, and the spans that were recorded."""
    trace = penstock.Trace() if is_traced else None
    transforms = [RandomResizedCrop(options.size), RandomHorizontalFlip()]
    with Loader(dataset, batch_size=options.batch_size, transforms=transforms, trace=trace) as loader:
        began = time.perf_counter()
        for _ in loader:
            pass
        return time.perf_counter() - began, 0 if trace is None else len(trace.spans)


if __name__ == "__main__":
    main()
