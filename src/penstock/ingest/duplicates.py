"""Samples that have one key: a list that names an item twice, two items of one id.

A key names one sample, so there must be one of each. What to keep is for the caller to say: by default none is taken
for the right one, and they are named; on request the first of each is kept.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa

from penstock.errors import SourceError
from penstock.shard.keys import unique_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from penstock.ingest.items import Items
    from penstock.ingest.source import Source

__all__ = ["Chosen", "keys_of", "one_of_each"]

_NAMED = 3  # keys that an error names


@final
@dataclass(frozen=True, slots=True)
class Chosen:
    """Some of the items of a source."""

    items: Items
    positions: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def suffixes(self) -> list[str]:
        """Give the suffixes of those chosen."""
        suffixes = self.items.suffixes
        return [suffixes[position] for position in self.positions.tolist()]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Give the sizes of those chosen."""
        return self.items.sizes[self.positions]

    @property
    def is_far(self) -> bool:
        """Whether the items are."""
        return self.items.is_far

    def name(self, position: int) -> str:
        """Say what one is called."""
        return self.items.name(int(self.positions[position]))

    def read(self, position: int) -> list[bytes]:
        """Give one's pictures."""
        return self.items.read(int(self.positions[position]))

    def identity(self) -> Iterator[bytes]:
        """Give all items, and which of them are chosen."""
        yield self.positions.tobytes()
        yield from self.items.identity()


def keys_of(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Give each path its key, as `unique_keys` does; the same path has the same one. (keys, suffixes)."""
    different = list(dict.fromkeys(paths))
    found = dict(zip(different, zip(*unique_keys(different), strict=True), strict=True))
    return [found[path][0] for path in paths], [found[path][1] for path in paths]


def one_of_each(source: Source, *, remove_duplicates: bool = False) -> Source:
    """See that each key has one sample: keep the first, or raise SourceError and name those that have several."""
    first: dict[str, int] = {}
    for position, key in enumerate(source.keys):
        first.setdefault(key, position)
    if len(first) == len(source.keys):
        return source
    if not remove_duplicates:
        shared = [(key, count) for key, count in Counter(source.keys).items() if count > 1]
        named = ", ".join(f"{key} ({count} times)" for key, count in shared[:_NAMED])
        more = f" and {len(shared) - _NAMED} more" if len(shared) > _NAMED else ""
        hint = "keep the first of each with --remove-duplicates (remove_duplicates=True), or mend the list"
        raise SourceError(f"{len(shared)} keys have several samples", got=named + more, expected="one each", hint=hint)
    positions = np.fromiter(first.values(), np.int64, len(first))
    return replace(
        source,
        fields={field: Chosen(items, positions) for field, items in source.fields.items()},
        keys=list(first),
        labels=source.labels.take(pa.array(positions)),
    )
