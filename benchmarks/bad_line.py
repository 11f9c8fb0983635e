"""What the fault proxy costs and how exact it is: what stands behind every rate measured over it.

    python benchmarks/bad_line.py --out benchmarks/results/bad_line.json

nginx sends ranges of 80,000 bytes, as long as a photograph; clients, each with a connection of its own, fetch them one
after another through the proxy, which runs in a process of its own. For each line and number of clients:

    share         bytes delivered per second, of what the link carries
    latency       median of a request from asking to its last byte, in milliseconds
    proxy, nginx  processor time per request, in microseconds, read from /proc

Rounds are interleaved; the table has their medians, the file every one. Clients are threads of one interpreter, so "no
line" says what they, the proxy and nginx reach together, not what the proxy could.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from penstock.bench.cost import cpu_seconds
from penstock.bench.machine import describe, versions
from penstock.testing import WebServer, nginx
from penstock.testing.faults import Profile, ProxyProcess, fault_proxy

BODY_BYTES = 80_000
LINES = {
    "no line": Profile(),
    "20 MB/s": Profile(link_bytes_per_second=20e6),
    "50 MB/s": Profile(link_bytes_per_second=50e6),
    "50 MB/s, 20 ms": Profile(link_bytes_per_second=50e6, latency_seconds=0.02),
}
CLIENTS = (1, 4, 16, 64)


def fetch(proxy: ProxyProcess, requests: int, seconds: list[float]) -> None:
    """Ask for the range so many times over one connection; the time that each took."""
    connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=60)
    body = bytearray(BODY_BYTES)
    for _ in range(requests):
        begin = time.perf_counter()
        connection.request("GET", "/bytes", headers={"Range": f"bytes=0-{BODY_BYTES - 1}"})
        answer = connection.getresponse()
        received = 0
        while count := answer.readinto(memoryview(body)[received:]):
            received += count
        answer.read()
        assert received == BODY_BYTES, received
        seconds.append(time.perf_counter() - begin)
    connection.close()


def measure(server: WebServer, profile: Profile, clients: int, requests: int) -> dict[str, Any]:
    """Fetch `requests` ranges in all."""
    latencies: list[float] = []
    with fault_proxy(server.host, server.port, profile) as proxy:
        spent = {name: cpu_seconds(pid) or 0.0 for name, pid in (("proxy", proxy.pid), ("nginx", server.pid))}
        threads = [threading.Thread(target=fetch, args=(proxy, requests // clients, latencies)) for _ in range(clients)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begin
        spent["proxy"] = (cpu_seconds(proxy.pid) or 0.0) - spent["proxy"]
        spent["nginx"] = (cpu_seconds(server.pid) or 0.0) - spent["nginx"]
    rate = len(latencies) * BODY_BYTES / seconds
    return {
        "requests": len(latencies),
        "seconds": seconds,
        "bytes_per_second": rate,
        "share": rate / profile.link_bytes_per_second if profile.link_bytes_per_second else None,
        "latency_ms": median(latencies) * 1e3,
        "proxy_us": spent["proxy"] / len(latencies) * 1e6,
        "nginx_us": spent["nginx"] / len(latencies) * 1e6,
    }


def table(runs: list[dict[str, Any]]) -> str:
    """Write the medians of the rounds."""
    lines = ["| line | clients | MB/s | share | latency, ms | proxy, us | nginx, us |", "|---|---|---|---|---|---|---|"]
    for name in LINES:
        for clients in CLIENTS:
            same = [run for run in runs if run["line"] == name and run["clients"] == clients]
            middle = {key: median(run[key] for run in same) for key in same[0] if isinstance(same[0][key], float)}
            share = f"{middle['share']:.1%}" if "share" in middle else ""
            lines.append(
                f"| {name} | {clients} | {middle['bytes_per_second'] / 1e6:.1f} | {share} | {middle['latency_ms']:.2f} "
                f"| {middle['proxy_us']:.0f} | {middle['nginx_us']:.0f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure every line with every number of clients, round by round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=640, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    runs = []
    machine = describe()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bytes").write_bytes(bytes(BODY_BYTES))
        with nginx(folder) as server:
            for number in range(args.rounds):
                for name, profile in LINES.items():
                    for clients in CLIENTS:
                        run = measure(server, profile, clients, args.requests)
                        runs.append({"round": number, "line": name, "clients": clients, **run})
    result = {"format": 1, "kind": "bad line", "machine": machine, "versions": versions(("penstock",)), "runs": runs}
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(table(runs))


if __name__ == "__main__":
    main()
