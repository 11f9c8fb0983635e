"""The order in which samples are written into shards (docs/format/packed-v1.md, section 6). Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["write_order"]


def write_order(keys: Sequence[str], seed: int | None) -> list[int]:
    """Give positions in the order to write them: by a keyed hash of each key; without a seed as they are."""
    if seed is None:
        return list(range(len(keys)))
    if not 0 <= seed < 1 << 64:
        raise UsageError("the seed is out of range", got=seed, expected="0 to 2**64 - 1")
    hash_key = seed.to_bytes(8, "little")
    digests = [hashlib.blake2b(key.encode(), digest_size=16, key=hash_key).digest() for key in keys]
    return sorted(range(len(keys)), key=digests.__getitem__)
