"""One client's connection: requests taken in, answers handed back with what `plan` has in store for them.

Each client connection has one connection to the server behind it, opened with the first request that needs it. What
goes wrong on one side goes wrong on the other: a proxy that mended something would be a fault that nobody ordered. Only
when a server has closed a connection that idled is it opened again, since a client of its own would have seen that.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from penstock.testing.faults.line import Line, Pace
from penstock.testing.faults.message import Head
from penstock.testing.faults.plan import Answer, alter, refusal
from penstock.testing.faults.wire import BUFFER_BYTES, Wire

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator, Iterator

    from penstock.testing.faults.message import Body
    from penstock.testing.faults.plan import Fate
    from penstock.testing.faults.proxy import FaultProxy

__all__ = ["Connection"]

PIECE_SECONDS = 0.02  # of a line's rate: what is sent at once, so that a slow line flows and does not lurch
ZEROS = bytearray(BUFFER_BYTES)


class Connection:
    """Both sides of one connection through the proxy."""

    def __init__(self, proxy: FaultProxy, accepted: socket.socket) -> None:
        self._proxy = proxy
        self._client = Wire(accepted)
        self._server: Wire | None = None
        rate = proxy.profile.connection_bytes_per_second
        self._lines = [line for line in (Line(rate) if rate else None, proxy.link) if line is not None]
        self._is_reset = False

    async def run(self) -> None:
        """Serve the client until one side closes."""
        try:
            with suppress(OSError):  # one side has gone, and now the other goes
                while await self._exchange():
                    pass
        finally:
            self._client.close(by_reset=self._is_reset)
            if self._server is not None:
                self._server.close()

    async def _exchange(self) -> bool:
        """Take one request and hand back its answer; whether the connection goes on."""
        raw = await self._client.head()
        if raw is None:
            return False
        request = Head(raw)
        fate = self._proxy.fate_of(request.method)
        if fate.delay_seconds:
            await asyncio.sleep(fate.delay_seconds)
        if fate.kind == "silence":
            self._proxy.count(fate.kind)
            await self._client.until_closed()
            return False
        if fate.kind == "refuse":
            self._proxy.count(fate.kind)
            # A client whose request has a body may be sending it still: then nobody can tell where the next one begins.
            goes_on = request.request_body() == 0 and not request.closes
            await self._client.send(
                refusal(self._proxy.profile, fate, has_body=request.method != "HEAD", goes_on=goes_on)
            )
            return goes_on
        return await self._relay(request, fate)

    async def _relay(self, request: Head, fate: Fate) -> bool:
        """Have the server answer, and hand that on."""
        server = await self._connected()
        await server.send(request.raw)
        # A body goes up while heads come down: a client may want to be told "100 Continue" before it sends one.
        sent = request.request_body()
        sending = asyncio.create_task(self._send_body(server, sent)) if sent != 0 else None
        try:
            response = await self._head_of_answer(server)
            length = response.answer_body(request.method)
            answer = Answer(response.raw)
            if fate.kind is not None and response.status in (200, 206) and isinstance(length, int) and length > 0:
                answer = alter(fate, response, length)
            goes_on = await self._deliver(server, answer, length)
            is_taken_in = sending is None or (sending.done() and sending.exception() is None)
            return goes_on and is_taken_in and length != "until close" and not (request.closes or response.closes)
        finally:
            if sending is not None:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)

    async def _connected(self) -> Wire:
        if self._server is not None and self._server.has_ended():
            self._server.close()
            self._server = None
        if self._server is None:
            self._server = await Wire.to(self._proxy.upstream_host, self._proxy.upstream_port)
        return self._server

    async def _send_body(self, server: Wire, length: Body) -> None:
        async for piece in self._client.body(length, BUFFER_BYTES):
            await server.send(piece)

    async def _head_of_answer(self, server: Wire) -> Head:
        """Read the head of the answer itself; heads that only announce it are handed on."""
        while True:
            raw = await server.head()
            if raw is None:
                raise ConnectionResetError
            response = Head(raw)
            if response.status >= 200:  # below that: "go on"
                return response
            await self._client.send(raw)

    async def _deliver(self, server: Wire, answer: Answer, length: Body) -> bool:
        """Hand an answer to the client at the pace of its lines; whether the connection goes on."""
        lines = list(self._lines)
        if answer.kind is not None:
            self._proxy.count(answer.kind)
        if answer.kind == "drip":
            lines.append(Line(self._proxy.profile.drip_bytes_per_second))
        most = min([BUFFER_BYTES, *(max(1, int(line.bytes_per_second * PIECE_SECONDS)) for line in lines)])
        pace = Pace(lines)
        await self._client.send(answer.head)
        at = 0
        async with aclosing(_pieces(server, answer, length, most)) as pieces:
            async for whole in pieces:
                piece = whole if answer.stop is None else whole[: answer.stop - at]
                if answer.flip is not None and at <= answer.flip[0] < at + len(piece):
                    piece[answer.flip[0] - at] ^= answer.flip[1]
                await pace.wait_for(len(piece))
                await self._client.send(piece)
                self._proxy.count_bytes(len(piece))
                at += len(piece)
                if at == answer.stop:
                    break
        if answer.end == "hang":
            await self._client.until_closed()
        self._is_reset = answer.end == "reset"
        return answer.end == "keep"


async def _pieces(server: Wire, answer: Answer, length: Body, most: int) -> AsyncGenerator[memoryview, None]:
    for piece in _zeros(answer.zeros_before, most):
        yield piece
    async with aclosing(server.body(length, most)) as pieces:
        async for piece in pieces:
            yield piece
    for piece in _zeros(answer.zeros_after, most):
        yield piece


def _zeros(count: int, most: int) -> Iterator[memoryview]:
    for start in range(0, count, most):
        yield memoryview(ZEROS)[: min(most, count - start)]
