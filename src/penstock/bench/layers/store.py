"""Raw ranged reads of a folder or an object store, by how many are under way: what the medium gives, and how soon.

No index, no decoding, no order: each thread reads a random range of a random file, again and again. So this is the
ceiling of every loader that reads this much at a time. Credentials come from where the stores' own tools find them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench import cache_state
from penstock.bench.layers.calls import repeat
from penstock.errors import UsageError
from penstock.storage.local import LocalStore
from penstock.storage.location import Access, Requests, is_url
from penstock.storage.object import ObjectStore
from penstock.storage.ranges import plan_reads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LABEL", "PRIMARY", "Settings", "measure"]

LABEL = "ranged reads"
PRIMARY = "bytes_per_second"
MOST_FILES = 20_000
PLANNED = 100_000  # places, drawn beforehand


@dataclass(frozen=True, slots=True)
class Settings:
    """What is read, in which pieces, how many at a time."""

    data: str  # a folder, or a URL
    request_bytes: int = 131_072  # 0: whole files
    in_flight: int = 1
    seconds: float = 3.0
    cache: str = "warm"  # or "cold": of a folder
    endpoint: str = ""  # of an S3 that is not Amazon's
    anonymous: bool = False
    seed: int = 0


def measure(settings: Settings, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure one number of requests under way."""
    store, found = _opened(settings)
    if not found:
        raise UsageError("there is nothing to read", file=settings.data)
    draws = random.Random(settings.seed)  # noqa: S311 places to read, no secret
    places = [_place(draws, found, settings.request_bytes) for _ in range(PLANNED)]
    zero = np.zeros(1, np.int32)

    def call(number: int) -> int:
        name, offset, length = places[number % len(places)]
        plan = plan_reads(zero, np.array([offset]), np.array([length]))
        block = np.empty(plan.block_bytes, np.uint8)
        failures = store.begin([name], plan, block).failures()
        if failures:
            error = failures[0].error
            raise error if error is not None else UsageError("a file has become shorter", file=name)
        return length

    state = None
    if not is_url(settings.data):
        paths = [Path(settings.data) / name for name, _ in found]
        how = cache_state.enter(settings.cache, paths)
        before = cache_state.resident_share(paths)
    done = repeat(call, seconds=settings.seconds, threads=settings.in_flight, tell=tell)
    values = done.values()
    if not is_url(settings.data) and done.cost is not None:
        after = cache_state.resident_share(paths)
        read = done.cost.device_read_bytes
        state = cache_state.proof(
            settings.cache, how, resident=(before, after), payload_bytes=done.byte_count, device_read_bytes=read
        )
    return {"values": values, "cache": state}


def _opened(settings: Settings) -> tuple[Any, list[tuple[str, int]]]:
    """Open what is read, and list (name, size) of what is in it."""
    if is_url(settings.data):
        limits = Requests(in_flight=settings.in_flight)
        access = Access(endpoint=settings.endpoint or None, anonymous=settings.anonymous, requests=limits)
        objects = ObjectStore(settings.data, access)
        listed = (found for found, _ in zip(objects.list(), range(MOST_FILES), strict=False))
        return objects, [(found.name, found.size) for found in listed if found.size]
    root = Path(settings.data)
    files = [(path.relative_to(root).as_posix(), path.stat().st_size) for path in cache_state.files_below(root)]
    return LocalStore(settings.data), [one for one in files if one[1]][:MOST_FILES]


def _place(draws: random.Random, found: list[tuple[str, int]], request_bytes: int) -> tuple[str, int, int]:
    """Draw a range of a file; each file as likely as any other."""
    name, size = found[draws.randrange(len(found))]
    length = min(size, request_bytes) if request_bytes else size
    return name, draws.randrange(size - length + 1), length
