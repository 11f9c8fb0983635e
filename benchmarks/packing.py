"""Packing on one core against a bare copy and `jpegtran` of the same files: the packing row.

    python benchmarks/packing.py PHOTOS --out benchmarks/results/packing.json

Each round packs the folder with one worker, and copies every file and runs `jpegtran -copy all -optimize -restart 4B`
on it, in an order drawn anew, all bound to one CPU, the page cache warm. `penstock pack` does more: it checks that each
rewrite kept every coefficient, writes tar, checksums and index, and syncs. jpegtran starts a process per file; what
that costs is measured (`jpegtran -version`) and the ratio is given with and without it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from penstock.bench import Case
from penstock.bench.machine import describe, versions

PACK = """
import sys, time
from penstock.pack import pack
begin = time.perf_counter()
report = pack(sys.argv[1], sys.argv[2], workers=1)
print(report.samples, time.perf_counter() - begin)
"""
JPEGTRAN = ("jpegtran", "-copy", "all", "-optimize", "-restart", "4B")


def time_pack(folder: str, out: Path, count: int) -> float:
    """Pack in a fresh process; its start and imports are not counted."""
    done = subprocess.run(
        [sys.executable, "-c", PACK, folder, str(out)], check=True, capture_output=True, text=True
    ).stdout.split()
    assert int(done[0]) == count, f"packed {done[0]} of {count}"
    return float(done[1])


def time_bare(paths: list[str], out: Path) -> dict[str, float]:
    """Copy every file, then run jpegtran on every file, then start jpegtran as often for nothing."""
    out.mkdir()
    begin = time.perf_counter()
    for number, path in enumerate(paths):
        shutil.copyfile(path, out / f"{number}.copy")
    copied = time.perf_counter()
    for number, path in enumerate(paths):
        subprocess.run([*JPEGTRAN, "-outfile", str(out / f"{number}.jpg"), path], check=True)
    tiled = time.perf_counter()
    for _ in paths:
        subprocess.run(["jpegtran", "-version"], check=True, capture_output=True)
    started = time.perf_counter()
    return {"copy": copied - begin, "jpegtran": tiled - copied, "starting_jpegtran": started - tiled}


def main() -> None:
    """Race packing against the bare work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    machine = describe()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    paths = [path for path, _ in Case.of(args.photos).files()]
    source_bytes = sum(
        len(Path(path).read_bytes()) for path in paths
    )  # reads everything: the cache is warm from here on
    draws, rounds = random.Random(0), []  # noqa: S311 an order of work, not a secret
    for number in range(args.rounds):
        seconds: dict[str, float] = {}
        with tempfile.TemporaryDirectory(dir=args.out.parent) as folder:
            for what in draws.sample(["pack", "bare"], 2):
                if what == "pack":
                    seconds["pack"] = time_pack(args.photos, Path(folder) / "packed", len(paths))
                else:
                    seconds |= time_bare(paths, Path(folder) / "bare")
        bare = seconds["copy"] + seconds["jpegtran"]
        rounds.append({"round": number, **seconds, "ratio": bare / seconds["pack"]})
        rounds[-1]["ratio_without_starts"] = (bare - seconds["starting_jpegtran"]) / seconds["pack"]
        sys.stderr.write(json.dumps(rounds[-1]) + "\n")
    result = {
        "format": 1,
        "kind": "packing",
        "machine": machine,
        "versions": versions(("penstock",)),
        "data": {"name": Path(args.photos).name, "samples": len(paths), "bytes": source_bytes},
        "rounds": rounds,
        "ratio": median(one["ratio"] for one in rounds),
        "ratio_without_starts": median(one["ratio_without_starts"] for one in rounds),
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
