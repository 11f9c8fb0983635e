"""Results with everything in them that can be shown, drawn with a seed."""

from __future__ import annotations

import math
import random

from penstock.results import Cache, Cell, Factor, Finding, Gate, Result, Run, Steps, System, waits

SPEEDS = {"penstock": 5900.0, "turbo": 2480.0, "torchvision": 1034.0, "penstock#2": 5890.0}
LABELS = {
    "penstock": "penstock, packed",
    "turbo": "decoding <whole> images & nothing else",
    "torchvision": "torchvision ImageFolder and DataLoader",
}


def _kind(name):
    return "ours" if name.startswith("penstock") else "bound" if name == "turbo" else "other"


def _run(draws, name, block, position, steps):
    rate = SPEEDS[name] * draws.gauss(1, 0.01)
    waited = [draws.lognormvariate(math.log(38 / rate), 0.5) for _ in range(steps)]
    if name == "torchvision":
        waited = [wait * (8 if step % 4 == 0 else 1) for step, wait in enumerate(waited)]
    values = {
        "samples": steps * 64,
        "seconds": steps * 64 / rate,
        "samples_per_second": rate,
        "first_batch_seconds": draws.uniform(0.2, 0.4),
        "cpu_seconds_per_thousand": 2000 / SPEEDS[name],
        "memory_bytes": 4e8 + 1e5 * len(name),
        "stall_share": 0.5,
        "wait_p99_seconds": sorted(waited)[int(0.99 * steps)],
        "worker_period_score": 0.8,
    }
    cache = Cache(
        asked="cold",
        found="warm" if name == "turbo" else "cold",
        resident_before=0.98 if name == "turbo" else 0.0,
        resident_after=draws.uniform(0.95, 1.0),
        payload_bytes=324_000_000,
        device_read_bytes=int(324e6 * draws.uniform(0.96, 1.1)),
    )
    return Run(
        cell=name,
        block=block,
        position=position,
        status="ok",
        values=values,
        gates=(Gate(name="samples", passed=True), Gate(name="shape", passed=True)),
        cache=cache,
        waits=waits.count(waited),
        steps=Steps(wait_seconds=tuple(waited), think_seconds=(0.004,) * steps) if block == 0 else None,
    )


def race(*, blocks=6, steps=250, title="Loaders side by side: photos", seed=3, **other) -> Result:
    """Four systems, one of them twice, one of them a bound; a run that hung."""
    draws = random.Random(seed)
    runs = [
        _run(draws, name, block, position, steps) for block in range(blocks) for position, name in enumerate(SPEEDS)
    ]
    runs[5] = Run(cell="turbo", block=1, position=1, status="hung", message="killed after <600> s")
    fields = {
        "kind": "race",
        "title": title,
        "command": "penstock race photos --peers penstock,turbo,torchvision,penstock",
        "primary": "samples_per_second",
        "systems": tuple(
            System(
                name=name,
                peer=name.partition("#")[0],
                label=LABELS[name.partition("#")[0]],
                kind=_kind(name),
                settings="as documented <fast & plain>",
                versions={name: "1.0"},
            )
            for name in SPEEDS
        ),
        "cells": tuple(Cell(name=name, system=name) for name in SPEEDS),
        "runs": tuple(runs),
        "blocks": blocks,
        "begun": "2026-11-19T20:00:00Z",
        "manifest": {
            "machine": {
                "processor": "A Processor",
                "cpus": 2,
                "instruction_sets": ["avx2"],
                "memory_bytes": 24 * 10**9,
            },
            "data": {"name": "photos", "samples": 4000, "bytes": 324_000_000},
        },
        "work": {"batch_size": 64, "workers": 2},
        "findings": (
            Finding(name="cache", severity="invalid", message="turbo: the page cache was to be cold, and was warm."),
            Finding(
                name="host cache", severity="note", message="Below the virtual machine there may be <another> cache."
            ),
        ),
    }
    return Result(**{**fields, **other})


def sweep(**other) -> Result:
    """Two systems at four numbers of workers and two latencies, five blocks."""
    draws = random.Random(1)
    cells, runs = [], []
    for system, rate in (("penstock", 1500.0), ("boto", 300.0)):
        for workers in (1, 2, 4, 8):
            for latency in (0.001, 0.1):
                name = f"{system}, workers {workers}, latency {latency}"
                cells.append(Cell(name=name, system=system, levels={"workers": workers, "latency": latency}))
                for block in range(5):
                    value = rate * workers**0.9 / (1 + 20 * latency) * draws.gauss(1, 0.01)
                    values = {"samples_per_second": value, "accelerator_use": value / 12000}
                    runs.append(Run(cell=name, block=block, position=0, status="ok", values=values))
    fields = {
        "kind": "bench",
        "title": "Stores",
        "command": "penstock bench store",
        "primary": "samples_per_second",
        "systems": (
            System(name="penstock", peer="penstock", label="penstock", kind="ours"),
            System(name="boto", peer="boto", label="boto"),
        ),
        "cells": tuple(cells),
        "runs": tuple(runs),
        "blocks": 5,
        "factors": (Factor(name="workers", levels=(1, 2, 4, 8)), Factor(name="latency", levels=(0.001, 0.1), unit="s")),
    }
    return Result(**{**fields, **other})
