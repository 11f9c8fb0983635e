"""How much training waits: steps of a known length, fed by a plain loader and by penstock, cold and warm, and on ranks.

    python benchmarks/waiting.py PHOTOS --out benchmarks/results/waiting.json

The step is what a GPU would be for this machine's processor: it takes none of it, and is as long as --headroom (1.25)
times what penstock needs for a batch when nobody waits for it, measured first. So penstock can keep up, and the
question is who does. Each run is an epoch; the runs of a round go in an order drawn anew. Said of each: images per
second, the share of the time that the trainer waited, the longest wait, and whether every sample came once.

    cold    the run's files are dropped from the page cache before (posix_fadvise), and fewer than 1 % of their pages
            are left there, or the run does not count; a host below a virtual machine may have a cache of its own
    warm    an epoch went before that is not counted

Then ranks: processes under torchrun (gloo) that share the machine's cores and the global batch, and add up the
gradients of a small model at each step; images per second of all together, whether all had equally many batches, and
whether their global batches were, sample by sample, those of one rank.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import mmap
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

import penstock
from penstock.bench import Case
from penstock.bench.machine import describe, versions
from penstock.bench.peers import load
from penstock.pipeline.cores import allowed_cores
from penstock.torch import Loader
from penstock.torch.training import Progress, Ranks, joined, leave
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

if TYPE_CHECKING:
    from collections.abc import Iterator

SIDE = 224
CELLS = [(name, state) for name in ("plain", "penstock") for state in ("cold", "warm")]
RANKS = (1, 2, 4)
DEADLINE_SECONDS = 600


def batches_of(name: str, args: argparse.Namespace) -> Iterator[Iterator[Any]]:
    """Give epoch after epoch of (images, ids)."""
    if name == "plain":
        case = Case.of(args.photos, size=SIDE, batch_size=args.batch_size, workers=allowed_cores(), seed=args.seed)
        yield from map(iter, load("pytorch").epochs(case))
    with loader_of(args, args.batch_size) as loader:
        while True:
            yield ((batch.images, batch.ids) for batch in loader)


def loader_of(args: argparse.Namespace, batch: int) -> Loader:
    """Make a loader of penstock."""
    transforms = [RandomResizedCrop(SIDE), RandomHorizontalFlip()]
    return Loader(packed(args.photos), batch_size=batch, transforms=transforms, seed=args.seed)


def packed(photos: str) -> str:
    """Name the packed photographs; pack them once."""
    path = photos.rstrip("/") + ".pen"
    if not Path(path).exists():
        penstock.pack(photos, path)
    return path


def epoch_with(step_seconds: float, batches: Iterator[Any], steps: int) -> dict[str, Any]:
    """Go through an epoch, with a step of so many seconds for each batch."""
    progress, ids = Progress("", steps), []
    begin = time.perf_counter()
    for _, numbers in progress.timed(batches):
        ids.append(np.asarray(numbers).astype(np.int64).reshape(-1))
        time.sleep(step_seconds)  # the device at work
    seconds = time.perf_counter() - begin
    count = sum(map(len, ids))
    return {
        "images_per_second": count / seconds,
        "stall_share": progress.stall_share,
        "longest_stall_seconds": progress.stall_seconds,
        "longest_stall_step": progress.stall_step,
        "each_once": bool(np.array_equal(np.sort(np.concatenate(ids)), np.arange(count))),
        "samples": count,
    }


def files_of(name: str, args: argparse.Namespace) -> list[Path]:
    """List what a run reads."""
    root = Path(args.photos if name == "plain" else packed(args.photos))
    return [path for path in root.rglob("*") if path.is_file()]


def dropped(paths: list[Path]) -> None:
    """Drop files from the page cache."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def cached_share(paths: list[Path]) -> float:
    """Say which share of files' pages is in the page cache."""
    import ctypes  # noqa: PLC0415  only here

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    inside = pages = 0
    for path in paths:
        size = path.stat().st_size
        if not size:
            continue
        with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as mapped:
            count = -(-size // mmap.PAGESIZE)
            found = ctypes.create_string_buffer(count)
            view = (ctypes.c_char * size).from_buffer(mapped)
            failed = libc.mincore(ctypes.addressof(view), size, found)
            del view
            if failed:
                raise OSError(ctypes.get_errno(), "mincore", str(path))
            inside, pages = inside + sum(one & 1 for one in found.raw), pages + count
    return inside / pages


def child(args: argparse.Namespace) -> None:
    """Do one run in this process; print what was found."""
    steps = -(-len(penstock.open(packed(args.photos))) // args.batch_size)
    epochs = batches_of(args.name, args)
    if args.state == "warm":
        for _ in next(epochs):
            pass
    print(json.dumps(epoch_with(args.step_seconds, next(epochs), steps)), flush=True)
    os._exit(0)  # the workers of loaders kept between epochs would be waited for


def ranked(args: argparse.Namespace) -> None:
    """Be one rank of a run."""
    torch.set_num_threads(1)
    with joined("cpu") as ranks:
        found = on_rank(args, ranks)  # in a function of its own: the model is gone before the ranks part
        if ranks.is_first:
            Path(args.out).write_text(json.dumps(found))
    leave(0)


def on_rank(args: argparse.Namespace, ranks: Ranks) -> dict[str, Any]:
    """Train for an epoch after one that is not counted; say what all ranks have found."""
    model: nn.Module = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, 10))
    if ranks.count > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with loader_of(args, args.batch_size // ranks.count) as loader:
        for _ in loader:
            pass
        batches: list[Any] = []
        progress = Progress("", len(loader))
        begin, samples = time.perf_counter(), 0
        for images, labels in progress.timed(noted(loader, batches)):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images.float() / 255), labels % 10).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            samples += len(images)
        seconds = ranks.most(time.perf_counter() - begin)
    counts = ranks.gathered(len(batches))
    order = hashlib.sha256()
    for one in zip(*ranks.gathered(batches), strict=True):
        order.update(np.sort(np.concatenate(one)).tobytes())
    total = ranks.summed([float(samples)])[0]
    return {
        "images_per_second": total / seconds,
        "samples": int(total),
        "batches": counts,
        "equal_batches": len(set(counts)) == 1,
        "order": order.hexdigest()[:16],
        "stall_shares": ranks.gathered(progress.stall_share),
    }


def noted(loader: Loader, batches: list[Any]) -> Iterator[Any]:
    """Note the samples of each batch."""
    for batch in loader:
        batches.append(np.array(batch.ids, np.int64))
        yield batch


def started(arguments: list[str], *, ranks: int = 1) -> str:
    """Run this script as another process, or as several; what it printed."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node"]
    start = [*torchrun, str(ranks)] if ranks > 1 else []
    command = [sys.executable, *start, __file__, *arguments]
    loopback = {"GLOO_SOCKET_IFNAME": "lo" if Path("/sys/class/net/lo").exists() else "lo0", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **loopback}) as process:
        try:
            said, _ = process.communicate(timeout=DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()  # and not kill: torchrun then ends its processes
            raise
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}")
    return said


def measured_rate(args: argparse.Namespace) -> float:
    """Images per second of penstock when nobody is in its way, warm."""
    arguments = [args.photos, "--name", "penstock", "--state", "warm", "--step-seconds", "0"]
    return float(json.loads(started([*arguments, *settings(args)]))["images_per_second"])


def settings(args: argparse.Namespace) -> list[str]:
    """Hand on what all runs share."""
    return ["--batch-size", str(args.batch_size), "--seed", str(args.seed)]


def main() -> None:
    """Measure all of it, or be one of the processes that are measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--headroom", type=float, default=1.25)
    parser.add_argument("--seed", type=int, default=0)
    for name, kind in (("--name", str), ("--state", str), ("--step-seconds", float)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.state == "rank":
        ranked(args)
        return
    if args.name is not None:
        child(args)
        return
    if args.out is None:
        parser.error("--out is missing")
    rate = measured_rate(args)
    step = args.headroom * args.batch_size / rate
    sys.stderr.write(f"penstock alone: {rate:.0f} images/s; a step takes {step * 1e3:.1f} ms\n")
    runs, on_ranks = fed(args, step), together(args)
    orders = {one["order"] for found in on_ranks.values() for one in found}
    result: dict[str, Any] = {
        "format": 1,
        "kind": "waiting",
        "machine": describe(),
        "versions": versions(("penstock", "torch", "pillow")),
        "step_seconds": step,
        "penstock_alone_images_per_second": rate,
        "settings": {name: getattr(args, name) for name in ("batch_size", "rounds", "headroom", "seed")},
        "runs": runs,
        "ranks": on_ranks,
        "same_global_order": len(orders) == 1,
        "equal_batches": all(one["equal_batches"] for found in on_ranks.values() for one in found),
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"a step of {step * 1e3:.1f} ms, {args.batch_size / step:.0f} images/s at most")
    for name, state in CELLS:
        own = [run for run in runs if (run["name"], run["state"]) == (name, state) and run["counts"]]
        if own:
            rates, waits = ([run[key] for run in own] for key in ("images_per_second", "stall_share"))
            said = f"{median(rates):.0f} images/s, waits {median(waits):.1%} of the time, {len(own)} runs"
            print(f"{name:9} {state}: {said}")
    for count, found in on_ranks.items():
        print(f"{count} ranks: {median(one['images_per_second'] for one in found):.0f} images/s")
    print(f"the same global order: {result['same_global_order']}; equal batches: {result['equal_batches']}")


def fed(args: argparse.Namespace, step: float) -> list[dict[str, Any]]:
    """Measure each loader, cold and warm."""
    runs: list[dict[str, Any]] = []
    draws = random.Random(args.seed)  # noqa: S311  an order of runs, no secret
    for number in range(args.rounds):
        for name, state in draws.sample(CELLS, len(CELLS)):
            left = None
            if state == "cold":
                dropped(files_of(name, args))
                left = cached_share(files_of(name, args))
            arguments = [args.photos, "--name", name, "--state", state, "--step-seconds", str(step), *settings(args)]
            found = json.loads(started(arguments))
            counts = found["each_once"] and (left is None or left < 0.01)
            about = {"round": number, "name": name, "state": state, "cached_before": left, "counts": counts}
            runs.append({**about, **found})
            sys.stderr.write(f"{runs[-1]}\n")
    return runs


def together(args: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Measure ranks."""
    found: dict[str, list[dict[str, Any]]] = {str(ranks): [] for ranks in RANKS}
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "rank.json")
        for _ in range(args.rounds):
            for ranks in RANKS:
                started([args.photos, "--state", "rank", "--out", str(answer), *settings(args)], ranks=ranks)
                found[str(ranks)].append(json.loads(answer.read_text()))
    return found


if __name__ == "__main__":
    main()
