"""What happens to a request, settled before anything is sent: pure functions, values in and values out.

`fate` draws what is in store for request number n: it depends on profile, seed and n, on nothing else. Requests are
numbered as they arrive, so who sends them one after another meets the same faults each time; of requests in flight
together it is the same number that are struck, but the order of arrival says which.

`alter` turns a fate and the head of the server's answer into what the client is to get.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

from penstock.testing.faults.profile import KINDS

if TYPE_CHECKING:
    from penstock.testing.faults.message import Head
    from penstock.testing.faults.profile import Profile

__all__ = ["Answer", "Fate", "alter", "fate", "refusal"]

End = Literal["keep", "close", "reset", "hang"]

CONTENT_RANGE = re.compile(rb"bytes (\d+)-(\d+)/(\d+)")
CODES = {429: ("Too Many Requests", "TooManyRequests"), 500: ("Internal Server Error", "InternalError")}
SLOW_DOWN = ("Service Unavailable", "SlowDown")
ENDS: dict[str | None, End] = {"truncate": "close", "reset": "reset", "stall": "hang"}
FAR_BYTES = 1000  # most that a length or a place is wrong by


@dataclass(frozen=True, slots=True)
class Fate:
    """What is in store for one request."""

    delay_seconds: float
    kind: str | None
    where: float
    """Where in the body, as a share of it: at least 0, below 1."""
    dice: int
    """For whatever else there is to choose; 64 bits."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client gets: a head, zeros, bytes of the server's body, zeros, and how that ends."""

    head: bytes
    kind: str | None = None
    """The fault that this is, None for the server's own answer."""
    zeros_before: int = 0
    zeros_after: int = 0
    flip: tuple[int, int] | None = None
    """A place in the body, and what its byte is combined with by exclusive or."""
    stop: int | None = None
    """Where in the body to end; None for its end."""
    end: End = "keep"


def fate(profile: Profile, seed: int, number: int, method: str) -> Fate:
    """Draw what happens to request `number`."""
    draws = blake2b(f"{seed} {number}".encode(), digest_size=32).digest()
    kind_draw, where, tail, dice = struct.unpack("<4Q", draws)
    share = kind_draw / 2**64
    kind = None
    if method == "GET" or profile.every_method:
        for name, chance in zip(KINDS, profile.chances, strict=True):
            if share < chance:
                kind = name
                break
            share -= chance
    delay = profile.latency_seconds
    if profile.tail_seconds:
        delay -= profile.tail_seconds * math.log1p(-(tail >> 11) / 2**53)
    return Fate(delay_seconds=delay, kind=kind, where=(where >> 11) / 2**53, dice=dice)


def refusal(profile: Profile, fate: Fate, *, has_body: bool, goes_on: bool) -> bytes:
    """Write the answer of a server that has had enough."""
    status = profile.statuses[fate.dice % len(profile.statuses)]
    reason, code = CODES.get(status, SLOW_DOWN)
    body = f"<Error><Code>{code}</Code><Message>{reason}</Message></Error>"
    lines = [
        f"HTTP/1.1 {status} {reason}",
        "Content-Type: application/xml",
        f"Content-Length: {len(body)}",
        f"Retry-After: {profile.retry_after_seconds}",
        f"Connection: {'keep-alive' if goes_on else 'close'}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n" + (body if has_body else "")).encode()


def alter(fate: Fate, response: Head, length: int) -> Answer:
    """Let a fault strike an answer whose body has `length` bytes, one or more; the answer itself where it cannot."""
    kind, at = fate.kind, int(fate.where * length)
    if kind in ENDS:
        return Answer(response.raw, kind, stop=at, end=ENDS[kind])
    if kind == "flip":
        return Answer(response.raw, kind, flip=(at, 1 + fate.dice % 255))
    if kind == "drip":
        return Answer(response.raw, kind)
    far = 1 + int(fate.where * FAR_BYTES)
    if kind == "lengthen":
        return Answer(response.replaced(b"content-length", b"%d" % (length + far)), kind, zeros_after=far)
    return _misplaced(kind, response, far)


def _misplaced(kind: str | None, response: Head, far: int) -> Answer:
    span = CONTENT_RANGE.fullmatch(response.value(b"content-range") or b"")
    if span is None or kind not in {"wrong_range", "ignore_range"}:
        return Answer(response.raw)
    first, last, total = (int(group) for group in span.groups())
    if kind == "wrong_range":
        claim = b"bytes %d-%d/%d" % (first + far, last + far, total + far)
        return Answer(response.replaced(b"content-range", claim), kind)
    head = response.replaced(b"content-length", b"%d" % total, status=b"200 OK", without=b"content-range")
    return Answer(head, kind, zeros_before=first, zeros_after=total - last - 1)
