"""One sample of a source becomes tar members: read, recognised, rewritten, checked. One at a time, in any thread.

What happens to its pictures is stored.py's to say; what cannot be stored comes back as Skipped, with the reason.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.decode.image import sniff
from penstock.errors import DataError, ImageError
from penstock.ingest.source import BROKEN, NOT_AN_IMAGE, UNREADABLE, Skipped
from penstock.ingest.stored import REENCODED, Stored, stored_clip, stored_image, stored_mask
from penstock.shard.members import kind_of
from penstock.shard.sample import SampleBytes, sample_bytes
from penstock.types import Record

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from penstock.ingest.recipe import Recipe
    from penstock.ingest.source import Source

__all__ = ["Transcoded", "transcode", "transcoded"]

_AT_ONCE = 8  # samples per task: the cost of handing over a task vanishes beside eight images
_FAR_THREADS = 32  # where reading is waiting, so many wait at a time


@dataclass(frozen=True, slots=True)
class Transcoded:
    """A sample ready to be written, and what was done to its pictures."""

    sample: SampleBytes
    outcome: str
    why: str  # why it was kept; empty otherwise
    source_bytes: int

    @property
    def bytes(self) -> int:
        """How much room it takes in a shard."""
        return len(self.sample.data)


def transcode(source: Source, position: int, labels: dict[str, Any], recipe: Recipe) -> Transcoded | Skipped:
    """Turn a sample's items into their stored form."""
    fields: dict[str, Stored] = {}
    size = 0
    for name, items in source.fields.items():
        where = items.name(position)
        try:
            pictures = items.read(position)
        except OSError as error:
            return Skipped(where, UNREADABLE, error.strerror or str(error))
        except DataError as error:
            return Skipped(where, BROKEN, str(error))
        is_made = name in source.made
        size += int(items.sizes[position]) if is_made else sum(map(len, pictures))
        for data in pictures:
            if sniff(data) is None:
                why = "the file is empty" if not data else f"it begins {data[:4].hex(' ')}"
                return Skipped(where, NOT_AN_IMAGE, why)
        try:
            stored = _stored(name, pictures, recipe.of_made() if is_made else recipe)
        except ImageError as error:
            return Skipped(where, BROKEN, str(error))
        fields[name] = replace(stored, outcome=REENCODED, why="") if is_made else stored
    sizes = {(one.field.width, one.field.height) for one in fields.values()}
    first = next(iter(source.fields))
    if len(sizes) > 1:
        found = " and ".join(f"{width}x{height}" for width, height in sorted(sizes))
        return Skipped(source.fields[first].name(position), BROKEN, f"the fields' sizes differ: {found}")
    suffixes = {name: items.suffixes[position] for name, items in source.fields.items()}
    record = Record(source.keys[position], {name: one.field for name, one in fields.items()}, labels)
    return Transcoded(sample_bytes(record, suffixes), fields[first].outcome, fields[first].why, size)


def _stored(name: str, pictures: Sequence[bytes], recipe: Recipe) -> Stored:
    kind = kind_of(name)
    if kind == "clip":
        return stored_clip(pictures, recipe)
    (data,) = pictures
    return stored_mask(data, recipe) if kind == "mask" else stored_image(data, recipe)


def transcoded(
    source: Source, order: Sequence[int], recipe: Recipe, threads: int
) -> Generator[Transcoded | Skipped, None, None]:
    """Transcode samples in threads; results come in the order given.

    At most a few tasks per thread are held in memory.
    """
    values = source.label_values(order)
    threads = max(threads, _FAR_THREADS) if source.is_far else threads

    def run(start: int) -> list[Transcoded | Skipped]:
        return [
            transcode(source, position, {name: column[number] for name, column in values.items()}, recipe)
            for number, position in enumerate(order[start : start + _AT_ONCE], start)
        ]

    waiting: deque[Future[list[Transcoded | Skipped]]] = deque()
    with ThreadPoolExecutor(threads, "penstock-transcode") as pool:
        try:
            for start in range(0, len(order), _AT_ONCE):
                waiting.append(pool.submit(run, start))
                if len(waiting) > 2 * threads:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for task in waiting:
                task.cancel()
