"""How long Python holds the interpreter lock per image: the row on the GIL.

    python benchmarks/interpreter.py PHOTOS.pen --out benchmarks/results/interpreter.json

A whole epoch is loaded with the lock's holders counted: the processor time of every Python thread of the process (the
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

from penstock.loader import Loader

from penstock import _native
from penstock.bench.machine import describe, versions
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


def python_seconds() -> float:
    """Sum the processor time of all threads that Python knows."""
    total = 0.0
    for thread in threading.enumerate():
        if thread.native_id is not None:
            stat = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
            total += int(stat.split()[0]) / 1e9  # nanoseconds on a processor
    return total


def main() -> None:
    """Measure some epochs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packed")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=256)
    args = parser.parse_args()
    machine = describe()
    meter = Meter()
    local._native = MeteredNative(meter)  # type: ignore[assignment]  # noqa: SLF001  where reads enter the native module
    _native.Pool = metered_pool(meter)  # type: ignore[misc,assignment]
    rounds = []
    transforms = [RandomResizedCrop(224), RandomHorizontalFlip()]
    with Loader(args.packed, batch_size=args.batch_size, transforms=transforms, threads=2) as loader:
        for epoch in range(args.epochs + 1):
            loader.set_epoch(epoch)
            batches = iter(loader)
            next(batches)  # threads are running from here on
            samples, python, native = 0, python_seconds(), meter.seconds
            for images, _ in batches:
                samples += len(images)
                held = python_seconds() - python - (meter.seconds - native)
            rounds.append({"samples": samples, "held_microseconds_per_image": held / samples * 1e6})
    result = {
        "format": 1,
        "kind": "interpreter",
        "machine": machine,
        "versions": versions(("penstock", "numpy")),
        "batch_size": args.batch_size,
        "native_calls": meter.calls,
        "epochs": rounds[1:],  # the first one finds caches cold
        "held_microseconds_per_image": median(one["held_microseconds_per_image"] for one in rounds[1:]),
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
