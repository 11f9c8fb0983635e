"""Cold data: loaders on an emulated hard disk, or on the machine's own disk, against torchvision and against the limit.

    python benchmarks/disk.py PHOTOS --out benchmarks/results/disk.json          an emulated disk; root, control groups
    python benchmarks/disk.py PHOTOS --own --out benchmarks/results/own-disk.json

COPIES copies of the photographs are raced in one cold epoch per run, each run a process of its own, the runs of a round
in an order drawn anew. What bounds them runs among them: `disk` reads the shards from one end to the other with large
buffered reads and does nothing else; `decode` is penstock's window order with everything in the page cache. A run is
cold: before it no more than 1 % of its files are in the page cache (mincore), and it must read at least 95 % of their
bytes from the device, or it counts as failed. Below this machine there may be a host that has a cache of its own: on
the emulated disk that does not matter, on the machine's own it does.

On the machine's own disk an epoch takes two seconds, so what a process does only once (starting threads, touching its
memory for the first time) would weigh more than the disk. There each loader goes through an epoch that is not counted,
as `decode` does in any case; then its files are dropped from the page cache, and the cold epoch follows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from penstock.bench import Case, cache_state, groups
from penstock.bench.child import prepare
from penstock.bench.cost import Cost, Memory
from penstock.bench.machine import allowed_cpus, describe, versions
from penstock.bench.peers import load
from penstock.bench.study import schedule
from penstock.bench.taking import digest

COPIES = 3
OURS = ("penstock-window", "penstock-folder-window")
LIMITS = ("disk", "decode")
READ_BYTES = 8 * 2**20


def enlarged(photos: Path) -> Path:
    """Copy the photographs several times over, every copy a class of its own kind; once."""
    target = photos.with_name(f"{photos.name}-cold")
    if not target.is_dir():
        for copy in range(COPIES):
            for folder in sorted(photos.iterdir()):
                shutil.copytree(folder, target / f"{copy}-{folder.name}")
        os.sync()
    return target


def stored(name: str, case: Case) -> Path:
    """Say what a run reads."""
    return Path(case.data) if name in {"torchvision", "penstock-folder-window"} else case.form("pen")


def dropped(folder: Path) -> float | None:
    """Have the page cache let go of a folder's files; the share that it kept all the same."""
    paths = cache_state.files_below(folder)
    cache_state.drop(paths)
    return cache_state.resident_share(paths)


def read_through(case: Case) -> int:
    """Read all shards from one end to the other; how many samples that was."""
    buffer = bytearray(READ_BYTES)
    for path in cache_state.files_below(stored("disk", case) / "shards"):
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return len(case.files())


def run_one(name: str, case: Case, group: str | None, *, is_warmed_up: bool) -> dict[str, Any]:
    """Time one epoch of one system, in this process. It joins the group when all libraries are loaded."""
    count = len(case.files())

    def make_cold() -> float | None:
        resident = None if name == "decode" else dropped(stored(name, case))
        if group and name != "decode":
            Path(group).write_text(str(os.getpid()))
        return resident

    if name == "disk":
        resident = make_cold()
        before, begin = Cost.now(), time.perf_counter()
        samples, seconds, first = read_through(case), time.perf_counter() - begin, 0.0
    else:
        epochs = iter(load("penstock-window" if name == "decode" else name).epochs(case))
        if is_warmed_up or name == "decode":
            for _ in next(epochs):
                pass
        batches = next(epochs)
        resident = make_cold()
        before, begin, first, ids = Cost.now(), time.perf_counter(), 0.0, []
        for _, batch_ids in batches:
            first = first or time.perf_counter() - begin
            ids.append(np.array(batch_ids, np.int64).reshape(-1))
        seconds = time.perf_counter() - begin
        samples = sum(map(len, ids))
        if digest(np.concatenate(ids)) != digest(np.arange(count, dtype=np.int64)):
            raise SystemExit("an epoch did not deliver every sample exactly once")
    after, memory = Cost.now(), Memory.now()
    found = {"samples": samples, "seconds": seconds, "rate": samples / seconds, "first_batch_seconds": first}
    found |= {"digest": digest(np.arange(count)), "levels": None, "warmup_seconds": [], "epoch_seconds": [seconds]}
    if before is None or after is None or memory is None:
        raise SystemExit("this needs /proc")
    found["cpu_seconds"] = after.cpu_seconds - before.cpu_seconds
    found["device_read_bytes"] = after.device_read_bytes - before.device_read_bytes
    return {**found, "memory_bytes": memory.bytes, "resident_before": resident}


def timed(name: str, case: Case, group: Path | None) -> dict[str, Any]:
    """Have a child time one system, its data cold, and see that it was."""
    files = cache_state.files_below(stored(name, case))
    payload = sum(path.stat().st_size for path in files)
    path = None if group is None or name == "decode" else str(group / "cgroup.procs")
    request = {"name": name, "case": case.to_json(), "group": path, "is_warmed_up": group is None}
    command = [sys.executable, __file__, "--child", json.dumps(request)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    label = {"label": name, "payload_bytes": payload}
    if done.returncode:
        return {**label, "status": "failed", "message": done.stderr.strip()[-2000:]}
    answer = json.loads(done.stdout.splitlines()[-1])
    resident = answer["resident_before"]
    if resident is not None and (resident > 0.01 or answer["device_read_bytes"] < 0.95 * payload):
        message = f"not cold: {resident:.1%} resident before, {answer['device_read_bytes']} of {payload} bytes read"
        return {**label, "status": "failed", "message": message}
    return {**label, "status": "ok", **answer}


def child(request: dict[str, Any]) -> None:
    """Answer a request on stdout."""
    case = Case.from_json(request["case"])
    os.sched_setaffinity(0, allowed_cpus()[: case.workers])
    sys.stdout.write(
        json.dumps(run_one(request["name"], case, request["group"], is_warmed_up=request["is_warmed_up"])) + "\n"
    )
    sys.stdout.flush()
    os._exit(0)


def main() -> None:
    """Race all rounds, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--own", action="store_true", help="the machine's own disk, without limits")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(json.loads(args.child))
    machine = describe()
    case = Case.of(str(enlarged(args.photos)))
    names = ["torchvision", *OURS, *LIMITS]
    prepared = {name: {"status": "ok", **prepare(load(name), case)} for name in names if name not in LIMITS}
    prepared |= {name: {"status": "ok", "form": None} for name in LIMITS}
    runs = []
    with nullcontext() if args.own else groups.disk(Path(case.data)) as group:
        for number, order in enumerate(schedule(names, args.rounds, seed=0)):
            for position, name in enumerate(order):
                answer = timed(name, case, group)
                runs.append({"round": number, "position": position, "peer": name, **answer})
                sys.stderr.write(f"round {number + 1}: {name}: {answer.get('rate') or answer['message']}\n")
    rates = {(run["round"], run["peer"]): run["rate"] for run in runs if run["status"] == "ok"}
    of_limit = [
        rates[number, OURS[0]] / min(rates[number, name] for name in LIMITS)
        for number in range(args.rounds)
        if all((number, name) in rates for name in (OURS[0], *LIMITS))
    ]
    result = {
        "format": 1,
        "kind": "race",
        "command": f"python benchmarks/disk.py {args.photos.name}{' --own' if args.own else ''} --rounds {args.rounds}",
        "medium": "the machine's own disk" if args.own else {"emulated hard disk": asdict(groups.DISK)},
        "case": {**case.to_json(), "data": Path(case.data).name, "forms": "", "epochs": 1},
        "data": {"samples": len(case.files()), "bytes": sum(Path(path).stat().st_size for path, _ in case.files())},
        "machine": machine,
        "versions": versions(("penstock", "torch", "torchvision")),
        "rounds": args.rounds,
        "seed": 0,
        "peers": names,
        "prepared": prepared,
        "runs": runs,
        "agreement": {
            "digests": sorted({run["digest"] for run in runs if run["status"] == "ok"}),
            "level_spread": None,
        },
        "of_limit_by_round": of_limit,
        "of_limit": median(of_limit),
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
