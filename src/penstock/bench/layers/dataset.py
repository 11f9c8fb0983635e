"""Random items of an opened dataset, by the size of the pool that asks for them: `dataset[i]`, encoded bytes or pixels.

No order, no batches: what one item costs, and how far asking for several at a time carries.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.bench.layers.calls import repeat
from penstock.decode.image import decode_image
from penstock.errors import UsageError
from penstock.opening import open_dataset
from penstock.storage.location import Access, is_url

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LABEL", "PRIMARY", "Settings", "measure"]

LABEL = "random items of a dataset"
PRIMARY = "samples_per_second"
WARMUP = 8


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked for, by how many threads."""

    data: str  # anything that penstock.open takes
    pool: int = 1
    decodes: bool = False  # whether images are decoded (by Pillow, whole), or only their bytes read
    seconds: float = 3.0
    endpoint: str = ""
    seed: int = 0


def measure(settings: Settings, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure one size of the pool."""
    access = Access(endpoint=settings.endpoint or None) if is_url(settings.data) else None
    dataset = open_dataset(settings.data, access=access)
    if not len(dataset):
        raise UsageError("there is nothing in it", file=settings.data)
    field, count = dataset.fields[0], len(dataset)

    def call(number: int) -> int:
        sample = random.Random(settings.seed * 2**32 + number).randrange(count)  # noqa: S311 no secret
        data = dataset[sample].fields[field].data
        if settings.decodes:
            decode_image(data)
        return len(data)

    done = repeat(call, seconds=settings.seconds, threads=settings.pool, warmup=WARMUP, tell=tell)
    return {"values": done.values()}
