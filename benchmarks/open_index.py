"""Time from opening a packed dataset of 1,281,167 samples to having read a first, random batch.

    python benchmarks/open_index.py [--samples N] [--rounds 7] [--folder DIR]

The dataset is synthetic: a true index and manifest as packing writes them, over shards that are sparse files of the
right size, so it takes 40 MB of disk and not 140 GB. Each round is a fresh process; importing the library is timed
apart from opening, from reading the columns, and from reading the 256 random samples. The index is warm in the page
cache. JSON goes to stdout.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.shard.checks import sha256
from penstock.shard.index import encode_index
from penstock.shard.manifest import INDEX_NAME, MANIFEST_NAME, IndexEntry, Manifest, ShardEntry

SHARD_BYTES = 256 * 1024 * 1024

ROUND = """
import json, sys, time
start = time.perf_counter()
import numpy as np
import penstock
imported = time.perf_counter()
dataset = penstock.open(sys.argv[1])
opened = time.perf_counter()
column = dataset.column("image")
labels = dataset.labels("label")
loaded = time.perf_counter()
ids = np.random.default_rng(0).integers(0, len(dataset), 256)
block = dataset.read(ids, "image")
batch_labels = labels[ids]
done = time.perf_counter()
print(json.dumps({"import": imported - start, "open": opened - imported, "columns": loaded - opened,
                  "read_256": done - loaded, "open_to_batch": done - imported, "samples": len(dataset)}))
"""


def make(folder: Path, samples: int) -> None:
    """Write the synthetic dataset."""
    draws = np.random.default_rng(0)
    length = draws.lognormal(11.4, 0.5, samples).astype(np.int64)
    taken = 512 + (length + 511) // 512 * 512 + 1024  # header, padded data, the label's member
    end = np.cumsum(taken)
    shard = (end - taken) // SHARD_BYTES
    names = [f"shards/{number:06d}.tar" for number in range(int(shard[-1]) + 1)]
    first = np.searchsorted(shard, np.arange(len(names)))
    offset = (end - taken) - (end - taken)[first][shard] + 512
    width = draws.choice([500, 333, 375, 400, 640, 1024], samples).astype(np.int32)
    height = draws.integers(200, 1200, samples).astype(np.int32)
    label = draws.integers(0, 1000, samples)

    def named(codes: np.ndarray, values: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values, pa.string()))

    table = pa.table(
        {
            "key": pa.array([f"n{c:08d}/n{c:08d}_{i}" for i, c in zip(draws.permutation(samples), label, strict=True)]),
            "file": named(shard, names),
            "image.offset": offset,
            "image.length": length,
            "image.crc32c": draws.integers(0, 2**32, samples, dtype=np.uint32),
            "image.format": named(np.zeros(samples), ["jpeg"]),
            "image.width": width,
            "image.height": height,
            "image.suffix": named(np.zeros(samples), [".JPEG"]),
            "label": label,
        }
    )
    (folder / "shards").mkdir()
    entries = []
    for number, name in enumerate(names):
        inside = np.flatnonzero(shard == number)
        size = int(offset[inside[-1]] - 512 + taken[inside[-1]]) + 1024
        (folder / name).touch()
        os.truncate(folder / name, size)
        entries.append(ShardEntry(name, size, len(inside), ""))
    encoded = encode_index(table)
    (folder / INDEX_NAME).write_bytes(encoded)
    fields = {"image": {"formats": {"jpeg": samples}, "bytes": int(length.sum())}}
    index = IndexEntry(INDEX_NAME, encoded.size, sha256(encoded))
    classes = tuple(f"n{number:08d}" for number in range(1000))
    manifest = Manifest(samples, fields, {"label": "int64"}, classes, index, tuple(entries))
    (folder / MANIFEST_NAME).write_bytes(manifest.encode())


def main() -> None:
    """Make, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_281_167)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", help="where to make the dataset (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        make(Path(folder), options.samples)
        size = (Path(folder) / "index.parquet").stat().st_size
        rounds = []
        for _ in range(options.rounds):
            done = subprocess.run([sys.executable, "-c", ROUND, folder], check=True, capture_output=True, text=True)
            rounds.append(json.loads(done.stdout))
    medians = {name: statistics.median(entry[name] for entry in rounds) for name in rounds[0]}
    result = {
        "samples": options.samples,
        "index_bytes": size,
        "limit_seconds": 0.3,
        "median": medians,
        "rounds": rounds,
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
