"""As much of HTTP/1.1 as it takes to find where a message ends: heads and the lengths of bodies. No I/O.

Heads are kept as they came, byte for byte: a signature covers them (the Host header above all, which names the proxy
because that is where the client believes to be talking to), and whoever changes one gets to say which.
"""

from __future__ import annotations

from typing import Literal

from penstock.errors import DataError

__all__ = ["Body", "Head", "number_in"]

Body = int | Literal["chunked", "until close"]
"""How long a body is: bytes, or how its end is known."""

NO_BODY = (204, 304)


def number_in(text: bytes, base: int = 10) -> int:
    """Read a number as HTTP writes it."""
    try:
        number = int(text, base)
    except ValueError:
        number = -1
    if number < 0:
        raise DataError("no number of HTTP", got=text[:60])
    return number


class Head:
    """The head of a request or an answer: first line, headers, blank line."""

    __slots__ = ("_lowered", "first", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.first: tuple[bytes, ...] = tuple(raw[: raw.index(b"\r\n")].split(b" ", 2))
        """Method, target, version; or version, status, reason."""
        if len(self.first) < 2 or b"HTTP/" not in self.first[0] + self.first[-1]:
            raise DataError("no HTTP", got=raw[:60])
        self._lowered = raw.lower()

    def value(self, name: bytes) -> bytes | None:
        """Look a header up by its name in lower case; the first of that name."""
        start = self._lowered.find(b"\r\n" + name + b":")
        if start < 0:
            return None
        start += len(name) + 3
        return self.raw[start : self.raw.index(b"\r\n", start)].strip()

    def replaced(
        self, name: bytes, value: bytes, *, status: bytes | None = None, without: bytes | None = None
    ) -> bytes:
        """Write the head with another value for a header that it has; with another status, without a header."""
        first, *lines = self.raw[:-4].split(b"\r\n")
        if status is not None:
            first = first[:9] + status  # b"HTTP/1.1 "
        kept = [first]
        for line in lines:
            here = line.partition(b":")[0].lower()
            if here != without:
                kept.append(name + b": " + value if here == name else line)
        return b"\r\n".join(kept) + b"\r\n\r\n"

    @property
    def status(self) -> int:
        """Of an answer."""
        return number_in(self.first[1])

    @property
    def method(self) -> str:
        """Of a request."""
        return self.first[0].decode("latin-1")

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this message."""
        return b"close" in (self.value(b"connection") or b"").lower()

    def request_body(self) -> Body:
        """Tell how long the body of this request is."""
        return self._body() or 0

    def answer_body(self, method: str) -> Body:
        """Tell how long the body of this answer to a request by `method` is."""
        if method == "HEAD" or self.status in NO_BODY:
            return 0
        body = self._body()
        return "until close" if body is None else body

    def _body(self) -> Body | None:
        if b"chunked" in (self.value(b"transfer-encoding") or b"").lower():
            return "chunked"
        length = self.value(b"content-length")
        return None if length is None else number_in(length)
