"""The memory budget: one number of bytes from which the depths of the queues follow.

In flight at any moment are, at most: encoded batches that wait in the queue, one being read, one in each decoding
call, or an arena that all of them lie in; decoded batches that wait, one in each decoding call and with it the pixels
that are becoming other values there; the one that the consumer works on and the one it is about to let go of. Where a
later step makes other batches of them, those two are of that kind, as are the one that waits after that step and the
one that it is making, out of one decoded batch and by way of passing arrays.

Encoded batches are counted as large as they are on average. Where they differ much, not so many wait: allowance.py
holds those that there are to what is planned here, which is enough for the largest one alone.

Depths are the largest, equal for both queues, for which all this fits. More than `MAX_DEPTH` helps nobody: a queue only
has to bridge the unevenness of its two sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from penstock.errors import UsageError

__all__ = ["MAX_DEPTH", "Later", "Load", "depth_within"]

MAX_DEPTH = 8
WITH_CONSUMER = 2
IN_LATER_STEP = 2  # one being made, one that waits


@final
@dataclass(frozen=True, slots=True)
class Later:
    """What a step after decoding makes of a batch."""

    batch_bytes: int  # of a batch that it hands on; 0 where that lies elsewhere, on a GPU
    passing_bytes: int = 0  # beside that and the batch that it is given


@final
@dataclass(frozen=True, slots=True)
class Load:
    """What a pipeline of reading and decoding carries."""

    encoded_bytes: int  # of a batch, on average; 0 where they lie in an arena
    decoded_bytes: int  # of a batch, all its fields, values applied
    calls: int  # decoding calls at a time
    scratch_bytes: int = 0  # in each decoding call, beside the batch that it makes
    later: Later | None = None  # None: decoding is the last step
    arena_bytes: int = 0
    under_way_bytes: int = 0  # on their way from a store, in none of these yet
    largest_bytes: int = 0  # the most that one batch can take encoded

    def encoded_at(self, depth: int) -> int:
        """Memory for batches that are being read, wait, or are being decoded; enough for the largest one alone."""
        return max((depth + 1 + self.calls) * self.encoded_bytes, self.largest_bytes)

    def bytes_at(self, depth: int) -> int:
        """Memory in flight when both queues have this depth."""
        encoded = self.under_way_bytes + self.arena_bytes + self.encoded_at(depth)
        decoded = (depth + self.calls) * self.decoded_bytes + self.calls * self.scratch_bytes
        if self.later is None:
            return encoded + decoded + WITH_CONSUMER * self.decoded_bytes
        delivered = (IN_LATER_STEP + WITH_CONSUMER) * self.later.batch_bytes
        return encoded + decoded + self.decoded_bytes + self.later.passing_bytes + delivered


def depth_within(memory_bytes: int, load: Load) -> int:
    """Give the largest depth whose memory fits; an error where not even depth 1 does."""
    if load.bytes_at(1) > memory_bytes:
        what = "the memory budget is too small for these batches"
        hint = "raise `memory`, or make `batch_size` smaller"
        if load.arena_bytes:
            what += f" and windows, which take {load.arena_bytes:,} bytes"
            hint += ", or the windows: shuffle=WindowShuffle(window_bytes=…)"
        raise UsageError(what, got=f"{memory_bytes:,} bytes", expected=f"at least {load.bytes_at(1):,}", hint=hint)
    return max(depth for depth in range(1, MAX_DEPTH + 1) if load.bytes_at(depth) <= memory_bytes)
