"""Data larger than the page cache: what epochs read from the device, by the memory that there is.

    python benchmarks/cache.py PHOTOS --out benchmarks/results/cache.json         root, control groups

For each limit a process in a memory control group goes through some epochs in window order, once with ordinary reads,
which leave it to the kernel what its page cache keeps, once as penstock reads: what there is room for through the
cache, the rest past it. The first epoch begins with nothing in the cache and is not counted. Every run is a process of
its own; the megabytes are those that the process read from the device.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from disk import enlarged

from penstock.bench import Case, cache_state, groups
from penstock.bench.child import prepare
from penstock.bench.cost import Cost
from penstock.bench.machine import describe, versions
from penstock.bench.peers import load
from penstock.loader import Loader
from penstock.order import WindowShuffle
from penstock.storage.local import ORDINARY
from penstock.storage.room import Kept
from penstock.transforms import RandomResizedCrop

LIMITS_MB = (300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200)
MEMORY = 100 * 2**20
SHUFFLE = WindowShuffle(lanes=4, window_bytes=32 * 2**20)
WAYS = ("ordinary", "kept")


def ordinary(cls: type[Kept], file_bytes: Any, room: int, *, way: int) -> Kept:
    """Leave everything to the kernel."""
    del room, way
    return cls(np.cumsum(file_bytes) - file_bytes, 2**62, ORDINARY)


def child(request: dict[str, Any]) -> None:
    """Go through the epochs; what each read from the device, in what time."""
    Path(request["group"]).write_text(str(os.getpid()))
    if request["way"] == "ordinary":
        Kept.of = classmethod(ordinary)  # type: ignore[method-assign, assignment]
    options = {"batch_size": 64, "transforms": [RandomResizedCrop(32)], "shuffle": SHUFFLE, "memory": MEMORY}
    epochs = []
    with Loader(request["packed"], **options) as loader:
        for _ in range(request["epochs"]):
            before, begin = Cost.now(), time.perf_counter()
            for _batch in loader:
                pass
            after = Cost.now()
            if before is None or after is None:
                raise SystemExit("this needs /proc")
            read_bytes = after.device_read_bytes - before.device_read_bytes
            epochs.append({"device_read_bytes": read_bytes, "seconds": time.perf_counter() - begin})
    sys.stdout.write(json.dumps(epochs) + "\n")


def run(packed: Path, way: str, limit_mb: int, epochs: int) -> dict[str, Any]:
    """Measure one way under one limit."""
    cache_state.drop(cache_state.files_below(packed))
    resident = cache_state.resident_share(cache_state.files_below(packed))
    with groups.limited(limit_mb * 10**6) as group:
        request = {"packed": str(packed), "way": way, "epochs": epochs, "group": str(group / "cgroup.procs")}
        command = [sys.executable, __file__, "--child", json.dumps(request)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    counted = [epoch["device_read_bytes"] for epoch in found[1:]]
    return {
        "limit_mb": limit_mb,
        "way": way,
        "resident_before": resident,
        "epochs": found,
        "read_bytes": median(counted),
    }


def main() -> None:
    """Measure every limit, and write what was found; rows.py makes a table of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(json.loads(args.child))
        return
    machine, case = describe(), Case.of(str(enlarged(args.photos)))
    prepare(load("penstock"), case)
    packed, runs = case.form("pen"), []
    for limit in LIMITS_MB:
        for way in WAYS:
            runs.append(run(packed, way, limit, args.epochs))
            sys.stderr.write(f"{limit} MB, {way}: {runs[-1]['read_bytes'] / 1e6:,.0f} MB\n")
    result = {
        "format": 1,
        "kind": "cache",
        "command": f"python benchmarks/cache.py {args.photos.name} --epochs {args.epochs}",
        "machine": machine,
        "versions": versions(("penstock",)),
        "data": {"samples": len(case.files()), "bytes": sum(p.stat().st_size for p in cache_state.files_below(packed))},
        "memory_bytes": MEMORY,
        "runs": runs,
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
