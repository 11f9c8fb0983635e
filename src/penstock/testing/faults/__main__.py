"""A fault proxy as a process: where it listens as one JSON line at the start, what it did as another at the end.

    python -m penstock.testing.faults 127.0.0.1 8080 --profile '{"reset": 0.1}' --seed 7

It ends by SIGTERM or Ctrl-C.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys

from penstock.testing.faults.profile import Profile
from penstock.testing.faults.proxy import FaultProxy


def _say(values: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


async def _serve(proxy: FaultProxy) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    _say({"host": proxy.host, "port": proxy.port})
    await proxy.serve(stop)


def main() -> None:
    """Serve until a signal comes."""
    parser = argparse.ArgumentParser(prog="penstock.testing.faults", description="An HTTP proxy with faults.")
    parser.add_argument("host", help="of the server")
    parser.add_argument("port", type=int, help="of the server")
    parser.add_argument("--profile", default="{}", type=Profile.from_json, help="what to do, as JSON")
    parser.add_argument("--seed", default=0, type=int)
    given = parser.parse_args()
    proxy = FaultProxy(given.host, given.port, given.profile, given.seed)
    try:
        asyncio.run(_serve(proxy))
    finally:
        _say(proxy.counts.to_json())


main()
