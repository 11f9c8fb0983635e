"""How long until the first batch: the rows on opening a large index and on the order of a billion samples.

    python benchmarks/starting.py PHOTOS.pen --out benchmarks/results/starting.json

A packed dataset's index is repeated until it has 1.28 million rows (each with a key of its own, pointing at the same
bytes), and in fresh processes the time from constructing the Loader to holding the first batch of 256 is taken, with a
warm page cache. Imports are timed apart. The order of 10**9 samples is asked for its first id, time and memory taken.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

from penstock.bench.machine import describe, versions
from penstock.packed import PackedIndex
from penstock.shard.index import encode_index
from penstock.shard.manifest import INDEX_NAME, MANIFEST_NAME, IndexEntry
from penstock.storage.local import LocalStore

ROWS = 1_280_000
FIRST_BATCH = """
import json, sys, time
begin = time.perf_counter()
from penstock.loader import Loader
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop
imported = time.perf_counter()
loader = Loader(sys.argv[1], batch_size=256, transforms=[RandomResizedCrop(224), RandomHorizontalFlip()])
constructed = time.perf_counter()
batches = iter(loader)  # kept: dropping it would wait for what has been begun
batch = next(batches)
delivered = time.perf_counter()
print(json.dumps({"import": imported - begin, "construct": constructed - imported,
                  "first_batch": delivered - constructed, "open_and_first_batch": delivered - imported}))
import os
os._exit(0)
"""
FIRST_ID = """
import json, time, tracemalloc
from penstock.order.permutation import Permutation
begin = time.perf_counter()
first = int(Permutation(10**9, 7)[0:1][0])
seconds = time.perf_counter() - begin
tracemalloc.start()
Permutation(10**9, 8)[0:1]
print(json.dumps({"first_id": first, "seconds": seconds, "peak_bytes": tracemalloc.get_traced_memory()[1]}))
"""


def enlarge(packed: Path, out: Path) -> None:
    """Write a dataset of ROWS samples whose shards are those of `packed`, its rows repeated."""
    index = PackedIndex(LocalStore(str(packed)))
    table = index.columns(index.schema.names)
    rows = np.arange(ROWS)
    large = table.take(pa.array(rows % len(table)))
    keys = pa.array([f"sample_{row:08d}" for row in rows.tolist()])
    large = large.set_column(large.schema.get_field_index("key"), "key", keys).combine_chunks()
    data = encode_index(large)
    (out / INDEX_NAME).write_bytes(data)
    (out / "shards").symlink_to((packed / "shards").absolute())
    times = np.bincount(rows % len(table), minlength=len(table))
    counts = np.bincount(index.files(), weights=times, minlength=len(index.manifest.shards)).astype(int).tolist()
    manifest = replace(
        index.manifest,
        samples=ROWS,
        index=IndexEntry(INDEX_NAME, len(data), hashlib.sha256(data).hexdigest()),
        shards=tuple(replace(shard, samples=count) for shard, count in zip(index.manifest.shards, counts, strict=True)),
    )
    (out / MANIFEST_NAME).write_bytes(manifest.encode())


def ask(code: str, *arguments: str) -> dict[str, float]:
    """Run a piece of code in a fresh process and take its JSON."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def main() -> None:
    """Time both starts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packed", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    machine = describe()
    with tempfile.TemporaryDirectory(dir=args.out.parent) as folder:
        enlarge(args.packed, Path(folder))
        index_bytes = (Path(folder) / INDEX_NAME).stat().st_size
        ask(FIRST_BATCH, folder)  # fills the page cache
        opening = [ask(FIRST_BATCH, folder) for _ in range(args.rounds)]
    order = [ask(FIRST_ID) for _ in range(args.rounds)]
    result = {
        "format": 1,
        "kind": "starting",
        "machine": machine,
        "versions": versions(("penstock", "pyarrow", "numpy")),
        "rows": ROWS,
        "index_bytes": index_bytes,
        "opening": opening,
        "open_and_first_batch_seconds": median(one["open_and_first_batch"] for one in opening),
        "order": order,
        "first_id_seconds": median(one["seconds"] for one in order),
        "first_id_peak_bytes": max(one["peak_bytes"] for one in order),
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
