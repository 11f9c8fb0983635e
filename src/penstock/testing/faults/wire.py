"""One side of a connection: a socket with a buffer that heads and bodies are read out of.

The buffer is of one size and never grows, so a connection costs what it costs however large the bodies are. What
`body` hands out is a view into it, valid until the next read, and may be written to.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING

from penstock.errors import DataError
from penstock.testing.faults.message import number_in

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.testing.faults.message import Body

__all__ = ["BUFFER_BYTES", "Wire"]

BUFFER_BYTES = 64 * 1024  # also the longest head
AT_ONCE = struct.pack("ii", 1, 0)  # linger for no time: closing is a reset


class Wire:
    """A connected socket, read message by message."""

    def __init__(self, connected: socket.socket) -> None:
        # An answer often ends with a short packet, which must not wait for the acknowledgement of those before it.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setblocking(False)
        self._socket = connected
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._start = self._stop = 0

    @classmethod
    async def to(cls, host: str, port: int) -> Wire:
        """Connect."""
        near = socket.socket()
        near.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(near, (host, port))
        except BaseException:
            near.close()
            raise
        return cls(near)

    async def send(self, data: bytes | memoryview) -> None:
        """Send it all."""
        await self._loop.sock_sendall(self._socket, data)

    async def head(self) -> bytes | None:
        """Read a head, blank line included; None where the other side has closed instead."""
        return await self._until(b"\r\n\r\n")

    async def body(self, length: Body, most: int) -> AsyncGenerator[memoryview, None]:
        """Read a body in pieces of `most` bytes at most, with whatever frames it."""
        if length == "chunked":
            async for piece in self._chunks(most):
                yield piece
            return
        left = None if length == "until close" else length
        while left is None or left > 0:
            piece = await self._piece(most if left is None else min(most, left))
            if not piece:
                if left is None:
                    return
                raise ConnectionResetError
            if left is not None:
                left -= len(piece)
            yield piece

    async def until_closed(self) -> None:
        """Wait for the other side to close, whatever it sends before."""
        self._start = self._stop = 0
        while await self._fill():
            self._start = self._stop = 0

    def has_ended(self) -> bool:
        """Tell whether the other side has closed, as far as that has come to be known."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self, *, by_reset: bool = False) -> None:
        """Close; by a reset, what was not delivered is lost."""
        if by_reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self._socket.close()

    async def _chunks(self, most: int) -> AsyncGenerator[memoryview, None]:
        size = 1
        while size:
            line = await self._until(b"\r\n")
            if line is None:
                raise ConnectionResetError
            size = number_in(line.partition(b";")[0], 16)
            yield memoryview(line)
            if size:
                async for piece in self.body(size + 2, most):
                    yield piece
        while (trailer := await self._until(b"\r\n")) != b"\r\n":
            if trailer is None:
                raise ConnectionResetError
            yield memoryview(trailer)
        yield memoryview(trailer)

    async def _until(self, mark: bytes) -> bytes | None:
        while (end := self._buffer.find(mark, self._start, self._stop)) < 0:
            if self._stop - self._start == BUFFER_BYTES:
                raise DataError("no HTTP", got=f"{BUFFER_BYTES} bytes and no end of a head")
            if not await self._fill():
                return None
        taken = bytes(self._view[self._start : end + len(mark)])
        self._start = end + len(mark)
        return taken

    async def _piece(self, most: int) -> memoryview:
        """Take what is there, or wait for something; empty at the end."""
        if self._start == self._stop:
            await self._fill()
        stop = min(self._stop, self._start + most)
        taken = self._view[self._start : stop]
        self._start = stop
        return taken

    async def _fill(self) -> bool:
        """Receive something behind what is there; whether anything came."""
        kept = self._stop - self._start
        if self._start:
            self._view[:kept] = bytes(self._view[self._start : self._stop])
            self._start, self._stop = 0, kept
        received = await self._loop.sock_recv_into(self._socket, self._view[kept:])
        self._stop += received
        return received > 0
