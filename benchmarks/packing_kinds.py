"""What packing does per second, by kind of source and by who does the work: threads, and Ray with 1 and 2 workers.

    python benchmarks/packing_kinds.py image-folder=PHOTOS 20bn-frames=CLIPS/train.csv --out results/packing-kinds.json

Each source is packed once by every engine in every round, in an order drawn anew, each time in a fresh process, the
page cache warm; imports, and starting Ray, are not counted: Ray is started before the clock is. What is packed is
compared: an engine whose bytes differ from the first one's ends the run. One thread keeps a core busy; Ray's driver,
its servers and its object store take a part of another one, so on few cores its rows say what that costs and not what a
cluster gains.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from penstock.bench.machine import describe, versions

ENGINES = ("threads-1", "threads-2", "ray-1", "ray-2")
PACK = """
import json, sys, time
import penstock
kind, source, destination, engine, workers = sys.argv[1:]
given = None
if engine == "ray":
    from penstock.ray import Cluster, started_here
    with started_here(int(workers)):
        begin = time.perf_counter()
        report = penstock.pack(source, destination, kind=kind, engine=Cluster())
        seconds = time.perf_counter() - begin
else:
    begin = time.perf_counter()
    report = penstock.pack(source, destination, kind=kind, workers=int(workers))
    seconds = time.perf_counter() - begin
print(json.dumps({"seconds": seconds, "samples": report.samples, "source_bytes": report.source_bytes}))
"""


def packed(kind: str, source: str, engine: str, folder: Path) -> dict[str, object]:
    """Pack in a fresh process; what it says, and the digest of the manifest, which has those of all files."""
    destination, (name, workers) = folder / "packed.pen", engine.split("-")
    command = [sys.executable, "-c", PACK, kind, source, str(destination), name, workers]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    digest = hashlib.sha256((destination / "penstock.json").read_bytes()).hexdigest()
    return {**json.loads(said), "digest": digest}


def main() -> None:
    """Pack every source with every engine, round after round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", metavar="KIND=SOURCE")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    args = parser.parse_args()
    sources = dict(source.split("=", 1) for source in args.sources)
    cases = [(kind, engine) for kind in sources for engine in args.engines]
    draws, rounds, digests = random.Random(0), [], {}  # noqa: S311 an order of work, not a secret
    for kind, source in sources.items():  # reads everything: the cache is warm from here on
        with tempfile.TemporaryDirectory(dir=args.out.parent) as folder:
            digests[kind] = packed(kind, source, "threads-2", Path(folder))["digest"]
    for number in range(args.rounds):
        for kind, engine in draws.sample(cases, len(cases)):
            with tempfile.TemporaryDirectory(dir=args.out.parent) as folder:
                found = packed(kind, sources[kind], engine, Path(folder))
            if found["digest"] != digests[kind]:
                sys.exit(f"{engine} packs {kind} to other bytes")
            rounds.append({"round": number, "kind": kind, "engine": engine, **found})
            sys.stderr.write(json.dumps(rounds[-1]) + "\n")
    rates = {}
    for kind, engine in cases:
        mine = [one for one in rounds if (one["kind"], one["engine"]) == (kind, engine)]
        rates.setdefault(kind, {})[engine] = {
            "samples_per_s": median(one["samples"] / one["seconds"] for one in mine),
            "source_bytes_per_s": median(one["source_bytes"] / one["seconds"] for one in mine),
        }
    result = {
        "format": 1,
        "kind": "packing-kinds",
        "machine": describe(),
        "versions": versions(("penstock", "ray")),
        "data": {kind: Path(source).name for kind, source in sources.items()},
        "rounds": rounds,
        "rates": rates,
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
