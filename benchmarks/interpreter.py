"""How long Python holds the interpreter lock per image: the row on the GIL.

    python benchmarks/interpreter.py PHOTOS.pen --out benchmarks/results/interpreter.json

Whole epochs are loaded with the lock's holders counted: the processor time of every Python thread of the process (the
consumer and the loader's own), less what those threads spent inside the native calls that release the lock (reading,
decoding). The native pool's threads never touch the interpreter and are not Python threads. What is left is an upper
bound of the time the lock was held: waiting for the lock takes no processor time, and the part of it that the system
spends on locks and wake-ups is counted though the lock is free then.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from penstock import _native
from penstock.bench.machine import describe, versions
from penstock.loader import Loader
from penstock.pipeline.worker import Worker
from penstock.storage import local
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

if TYPE_CHECKING:
    from collections.abc import Callable


class Meter:
    """Adds up the processor time that calling threads spend in a function."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0
        self._lock = threading.Lock()

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that its callers' processor time is added."""

        def metered(*arguments: Any, **options: Any) -> Any:
            begin = time.thread_time()
            try:
                return function(*arguments, **options)
            finally:
                spent = time.thread_time() - begin
                with self._lock:
                    self.seconds += spent
                    self.calls += 1

        return metered


class MeteredNative:
    """The native module with its lock-releasing calls metered; everything else as it is."""

    def __init__(self, meter: Meter) -> None:
        self.read_ranges = meter.around(_native.read_ranges)

    def __getattr__(self, name: str) -> Any:
        return getattr(_native, name)


def metered_pool(meter: Meter) -> type:
    """Make a Pool whose decode_batch is metered."""
    pool = _native.Pool

    class MeteredPool:
        def __init__(self, threads: int) -> None:
            self._pool = pool(threads)
            self.decode_batch = meter.around(self._pool.decode_batch)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._pool, name)

    return MeteredPool


def count_workers(ended: list[float]) -> None:
    """Have every thread of the loader leave its processor time here when it ends."""
    run = Worker.run

    def counted(worker: Worker) -> None:
        try:
            run(worker)
        finally:
            ended.append(time.thread_time())

    Worker.run = counted  # type: ignore[method-assign]


def main() -> None:
    """Measure some rounds of some epochs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packed")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=256)
    args = parser.parse_args()
    machine = describe()
    meter = Meter()
    local._native = MeteredNative(meter)  # type: ignore[assignment]  # noqa: SLF001  where reads enter the native module
    _native.Pool = metered_pool(meter)  # type: ignore[misc,assignment]
    ended: list[float] = []
    count_workers(ended)
    transforms = [RandomResizedCrop(224), RandomHorizontalFlip()]
    rounds = []
    for _ in range(args.rounds):
        loader = Loader(args.packed, batch_size=args.batch_size, transforms=transforms, threads=2)
        ended.clear()
        before, native, samples = time.thread_time(), meter.seconds, 0
        for epoch in range(args.epochs):
            loader.set_epoch(epoch)
            for images, _ in loader:
                samples += len(images)
        loader.close()  # its threads have ended from here on
        assert ended, "the loader has no threads of its own: count what it has now"
        held = time.thread_time() - before + sum(ended) - (meter.seconds - native)
        rounds.append({"samples": samples, "threads": len(ended), "held_microseconds_per_image": held / samples * 1e6})
    result = {
        "format": 1,
        "kind": "interpreter",
        "machine": machine,
        "versions": versions(("penstock", "numpy")),
        "batch_size": args.batch_size,
        "native_calls": meter.calls,
        "epochs": args.epochs,
        "rounds": rounds,
        "held_microseconds_per_image": median(one["held_microseconds_per_image"] for one in rounds),
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
