"""A chunk of GulpIO: which bytes of its data are whose, and what is said of them. No I/O.

    data_0.gulp     one JPEG after another, each filled up with zeros to a multiple of four bytes; nothing else
    meta_0.gmeta    JSON: {"ID": {"frame_info": [[start, zeros, length with zeros], …], "meta_data": [{…}]}, …}

Versions 1 and 2 of GulpIO write the same; they differ in the quality of the JPEGs. Nothing in the data says where a
record begins, or that a meta belongs to it, so whatever a meta states is compared with the size of the data.

A meta may be a pickle of the same, on request of whoever wrote it: it is read without being run (pickled.py).

`meta_data` is a list because an id may be appended to; readers look at its first element alone.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import SourceError
from penstock.ingest.pickled import read_pickle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["GulpItem", "decode_meta", "encode_meta", "filled_up", "unclaimed_bytes"]

_PICKLE = 0x80  # what a pickle begins with since Python 2.3
_RECORD_BYTES = 4  # records are filled up to a multiple of this
_LARGEST_FRAME_BYTES = 2**31 - 1  # more than any JPEG has, and what an index can say
_FURTHEST = 2**62  # so that sums of what a meta claims are numbers still


@dataclass(frozen=True, slots=True)
class GulpItem:
    """An item of a chunk: an image or a clip."""

    start: NDArray[np.int64]  # of each frame, in the chunk's data
    length: NDArray[np.int64]  # without zeros
    zeros: NDArray[np.int64]
    said: Mapping[str, Any]

    @property
    def stop(self) -> int:
        """Where the last of its bytes is, and one more."""
        return int((self.start + self.length).max())


def decode_meta(data: bytes) -> list[tuple[str, GulpItem | str]]:
    """Read a meta: items by id in their order, or what is wrong with one."""
    if not data:
        raise SourceError("the meta is empty")
    found, twice = (read_pickle(data), set[str]()) if data[0] == _PICKLE else _read_json(data)
    if not isinstance(found, dict):
        raise SourceError("the meta is not an object of items", got=type(found).__name__)
    return [(str(name), "the meta has this id twice" if name in twice else _item(item)) for name, item in found.items()]


def _read_json(data: bytes) -> tuple[Any, set[str]]:
    """Read JSON, and which names an object of it has twice."""
    twice: set[str] = set()

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice.update(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return found

    try:
        return json.loads(data, object_pairs_hook=members), twice
    except (ValueError, RecursionError) as error:
        raise SourceError(f"the meta is not JSON: {error}") from error


def _item(found: Any) -> GulpItem | str:
    """Take an item's members, or say why they are none."""
    if not isinstance(found, dict) or not {"frame_info", "meta_data"} <= found.keys():
        return "the meta does not give frame_info and meta_data"
    said, frames = found["meta_data"], found["frame_info"]
    if not isinstance(said, list) or not all(isinstance(one, dict) for one in said):
        return "meta_data is not a list of objects"
    if frames == []:
        return "there are no frames"
    table = _rows_of_three(frames)
    if table is None:
        return "frame_info is not rows of three numbers"
    start, zeros, length = table.T
    is_too_far = start.max() > _FURTHEST or length.max() > _LARGEST_FRAME_BYTES
    if table.min() < 0 or is_too_far or (length - zeros).min() < 1:
        return "frame_info has bytes that cannot be"
    return GulpItem(start, length - zeros, zeros, said[0] if said else {})


def _rows_of_three(frames: Any) -> NDArray[np.int64] | None:
    try:
        table = np.asarray(frames)
    except ValueError:  # rows of several lengths
        return None
    if table.ndim != 2 or table.shape[1] != 3 or table.dtype.kind != "i":
        return None
    return table.astype(np.int64, copy=False)


def unclaimed_bytes(items: Sequence[GulpItem], size: int) -> int:
    """Count the bytes of a chunk's data that are of no item."""
    if not items:
        return size
    start = np.concatenate([item.start for item in items])
    stop = start + np.concatenate([item.length + item.zeros for item in items])
    order = np.argsort(start, kind="stable")
    start, stop = np.minimum(start[order], size), np.minimum(np.maximum.accumulate(stop[order]), size)
    reached = np.concatenate([[0], stop[:-1]])
    return int(np.maximum(start - reached, 0).sum() + size - stop[-1])


def filled_up(data: bytes) -> tuple[bytes, int]:
    """Make a JPEG a record; the record and how many zeros it ends with."""
    zeros = -len(data) % _RECORD_BYTES
    return data + bytes(zeros), zeros


def encode_meta(items: Mapping[str, tuple[list[tuple[int, int, int]], Mapping[str, Any]]]) -> bytes:
    """Write a meta as GulpIO does, byte for byte: by id, rows of frame_info and what is said of the item."""
    whole = {name: {"frame_info": frames, "meta_data": [said]} for name, (frames, said) in items.items()}
    return json.dumps(whole, default=str).encode("ascii")  # dates and the like as text
