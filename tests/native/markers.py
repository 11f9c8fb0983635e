"""A JPEG taken apart at its markers and put together again: to look at what was written, or to damage it on purpose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SOI, EOI, SOS, DRI, COM = 0xD8, 0xD9, 0xDA, 0xDD, 0xFE
FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
RESTARTS = range(0xD0, 0xD8)


@dataclass(frozen=True)
class Segment:
    """A marker, its payload (without the two bytes of length), and the entropy-coded bytes that follow it."""

    marker: int
    payload: bytes | None = None  # None: a marker that stands alone
    scan: bytes = b""

    def __bytes__(self) -> bytes:
        head = bytes([0xFF, self.marker])
        if self.payload is not None:
            head += (len(self.payload) + 2).to_bytes(2, "big") + self.payload
        return head + self.scan


def take_apart(data: bytes) -> list[Segment]:
    """The segments of a healthy JPEG; restart markers are segments of their own."""
    segments = []
    at = 0
    while at < len(data):
        assert data[at] == 0xFF, f"no marker at {at}"
        marker = data[at + 1]
        at += 2
        payload = None
        if marker not in (SOI, EOI) and marker not in RESTARTS:
            length = int.from_bytes(data[at : at + 2], "big")
            payload = data[at + 2 : at + length]
            at += length
        stop = at
        while stop < len(data) and not (data[stop] == 0xFF and data[stop + 1 : stop + 2] != b"\0"):
            stop += 1
        segments.append(Segment(marker, payload, data[at:stop]))
        at = stop
        if marker == EOI:
            break
    return segments


def put_together(segments: Sequence[Segment]) -> bytes:
    """The file that these segments make."""
    return b"".join(map(bytes, segments))


def frame(data: bytes) -> Segment:
    """The frame header (SOFn)."""
    return next(segment for segment in take_apart(data) if segment.marker in FRAMES)


def restart_interval(data: bytes) -> int:
    """MCUs between restart markers; 0: there are none."""
    found = [segment.payload for segment in take_apart(data) if segment.marker == DRI]
    return int.from_bytes(found[-1], "big") if found and found[-1] else 0


def restarts(data: bytes) -> list[int]:
    """The numbers of the restart markers, in order."""
    return [segment.marker - 0xD0 for segment in take_apart(data) if segment.marker in RESTARTS]


def mcus(data: bytes) -> tuple[int, int]:
    """How many minimum coded units the (interleaved) image is wide and high."""
    payload = frame(data).payload or b""
    height, width = int.from_bytes(payload[1:3], "big"), int.from_bytes(payload[3:5], "big")
    factors = [payload[7 + 3 * component] for component in range(payload[5])]
    across = 8 * (max(f >> 4 for f in factors) if len(factors) > 1 else 1)
    down = 8 * (max(f & 15 for f in factors) if len(factors) > 1 else 1)
    return -(-width // across), -(-height // down)


def with_size(data: bytes, width: int, height: int) -> bytes:
    """The same file with another size in its frame header."""
    segments = take_apart(data)
    at = next(i for i, segment in enumerate(segments) if segment.marker in FRAMES)
    payload = segments[at].payload or b""
    changed = payload[:1] + height.to_bytes(2, "big") + width.to_bytes(2, "big") + payload[5:]
    segments[at] = replace(segments[at], payload=changed)
    return put_together(segments)
