"""The proxy: a listener on loopback, its connections, and what it counts.

    with FaultProxy(server.host, server.port, Profile(reset=0.1), seed=7) as proxy:
        through = dataclasses.replace(server, port=proxy.port)      # the same server, over a bad line

In a `with` block it runs in a thread of its own, and shares the interpreter with whoever is measured against it;
`fault_proxy` runs it in a process of its own instead. Either way it is `serve`, one event loop, and either way it ends
with whoever started it: the thread is a daemon, the process is bound to its parent.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, final

from penstock.errors import StalledError
from penstock.testing.faults.connection import Connection
from penstock.testing.faults.line import Line
from penstock.testing.faults.plan import fate
from penstock.testing.servers.ports import HOST

if TYPE_CHECKING:
    from typing import Any

    from penstock.testing.faults.plan import Fate
    from penstock.testing.faults.profile import Profile

__all__ = ["Counts", "FaultProxy"]

MOST_CONNECTIONS = 1024  # at a time; further ones wait to be let in
START_SECONDS = STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Counts:
    """What a proxy has done so far."""

    connections: int = 0
    requests: dict[str, int] = field(default_factory=dict)
    """By method; a request counts once its head is in."""
    faults: dict[str, int] = field(default_factory=dict)
    """By kind; those that happened, not those that were drawn for an answer that they could not strike."""
    body_bytes: int = 0
    """Of answers, handed to the system for clients."""

    def to_json(self) -> dict[str, Any]:
        """Turn into plain values."""
        return asdict(self)


@final
class FaultProxy:
    """A proxy before one HTTP server, on 127.0.0.1 at `port`, which does to its answers what the profile says."""

    def __init__(self, upstream_host: str, upstream_port: int, profile: Profile, seed: int = 0) -> None:
        self.upstream_host = upstream_host
        self.upstream_port = upstream_port
        self.profile = profile
        self.seed = seed
        self.link = Line(profile.link_bytes_per_second) if profile.link_bytes_per_second else None
        self._requests: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._connections = self._body_bytes = self._number = 0
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._listener = socket.create_server((HOST, 0), backlog=MOST_CONNECTIONS)
        self._listener.setblocking(False)
        self.host: str = HOST
        self.port: int = self._listener.getsockname()[1]

    @property
    def endpoint(self) -> str:
        """The URL of the proxy."""
        return f"http://{self.host}:{self.port}"

    @property
    def counts(self) -> Counts:
        """What it has done so far."""
        return Counts(self._connections, dict(self._requests), dict(self._faults), self._body_bytes)

    def fate_of(self, method: str) -> Fate:
        """Give a request that has come in its number, and say what is in store for it."""
        drawn = fate(self.profile, self.seed, self._number, method)
        self._number += 1
        self._requests[method] += 1
        return drawn

    def count(self, kind: str) -> None:
        """Count a fault that happens."""
        self._faults[kind] += 1

    def count_bytes(self, count: int) -> None:
        """Count bytes of a body."""
        self._body_bytes += count

    async def serve(self, stop: asyncio.Event) -> None:
        """Serve until told to stop; then raise the first thing that went wrong in the proxy itself."""
        accepting = asyncio.create_task(self._accept())
        accepting.add_done_callback(self._note)
        with self._listener:
            await stop.wait()
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def _note(self, task: asyncio.Task[None]) -> None:
        """Keep the first thing that went wrong."""
        if not task.cancelled():
            self._failure = self._failure or task.exception()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        room = asyncio.Semaphore(MOST_CONNECTIONS)
        tasks: set[asyncio.Task[None]] = set()

        def ended(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            room.release()
            self._note(task)

        try:
            while True:
                await room.acquire()
                accepted, _ = await loop.sock_accept(self._listener)
                self._connections += 1
                task = asyncio.create_task(Connection(self, accepted).run())
                tasks.add(task)
                task.add_done_callback(ended)
        finally:
            left = list(tasks)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def __enter__(self) -> FaultProxy:
        """Start a thread that serves."""
        is_up = threading.Event()

        async def serve() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            is_up.set()
            await self.serve(self._stop)

        def run() -> None:
            try:
                asyncio.run(serve())
            except BaseException as error:  # noqa: BLE001 raised by __exit__, in the thread that uses the proxy
                self._failure = error

        self._thread = threading.Thread(target=run, name="fault proxy", daemon=True)
        self._thread.start()
        if not is_up.wait(START_SECONDS):
            raise StalledError("the fault proxy does not start", got=f"{START_SECONDS:.0f} s of silence")
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread with all its connections; raise what went wrong in it."""
        self._loop.call_soon_threadsafe(self._stop.set)
        assert self._thread is not None
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            raise StalledError("the fault proxy does not end", got=f"{STOP_SECONDS:.0f} s after it was told to")
        if self._failure is not None:
            raise self._failure
