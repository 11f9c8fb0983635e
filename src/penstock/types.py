"""Frozen values that pass between rooms. They hold no behaviour beyond checking themselves at birth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "UNREAD",
    "Batch",
    "CacheStatistics",
    "Column",
    "Frames",
    "Geometry",
    "Pair",
    "Record",
    "StoreStatistics",
    "StoredField",
]

UNREAD = "unread"  # the format of images whose headers nobody has read yet: their sizes in the index mean nothing


@dataclass(frozen=True, slots=True)
class StoredField:
    """One binary field of one sample, as it is stored: encoded bytes and what they are."""

    data: bytes
    format: str  # "jpeg", "png", "npy", "mjpeg", …
    width: int
    height: int
    frames: tuple[int, ...] | None = None  # of a clip: how many bytes each frame has, one after another

    def __repr__(self) -> str:
        of = "" if self.frames is None else f", {len(self.frames)} frames"
        return f"StoredField({self.format} {self.width}x{self.height}, {len(self.data)} bytes{of})"


@dataclass(frozen=True, slots=True)
class Record:
    """One sample on its way into a shard: a key, its binary fields by name, its labels by name."""

    key: str
    fields: dict[str, StoredField]
    labels: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Frames:
    """Where the frames of every sample's clip are: sample i has those from first[i] to first[i + 1]."""

    first: NDArray[np.int64]  # one entry more than there are samples
    offset: NDArray[np.int64]  # counted from the clip's first byte
    length: NDArray[np.int64]
    crc32c: NDArray[np.uint32] | None  # None where they were never summed


@dataclass(frozen=True, slots=True)
class Column:
    """Where every sample's bytes of one binary field are: parallel arrays, one entry per sample."""

    file: NDArray[np.int32]  # which of the dataset's files
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    crc32c: NDArray[np.uint32] | None  # None where the bytes were never summed (a folder opened in place)
    format: NDArray[np.uint8]  # a position in `formats`
    width: NDArray[np.int32]
    height: NDArray[np.int32]
    formats: tuple[str, ...]
    frames: Frames | None = None  # of clips

    def __len__(self) -> int:
        return len(self.offset)


@final
@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """What has been asked of a cache for one dataset, in bytes."""

    hit_bytes: int = 0
    """Bytes that were found. By all that were asked for: what the cache is worth."""

    missed_bytes: int = 0
    """Bytes that belong into the cache and were not there yet. From the second epoch on: none."""

    passed_bytes: int = 0
    """Bytes that the cache has no room for."""

    damaged: int = 0
    """Blocks that did not match their checksum, and were fetched again. Any: look at the disk."""


@final
@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """What reading from an object store has come to in this process so far."""

    requests: int = 0
    """Requests made for samples, second ones and repeated ones included."""

    bytes: int = 0
    """Bytes that arrived and were used."""

    retries: int = 0
    """Requests that were made again after an error. Many: look at the network, or the server is too busy."""

    hedges: int = 0
    """Second requests for what was late. Near a twentieth of all: the store's answers take very different times."""

    hedges_won: int = 0
    """How many of these were answered first."""

    slowed: int = 0
    """How often the server asked for fewer requests. Any: it limits you, not the network."""

    first_byte_seconds: float | None = None
    """Median time from a request to its first byte, lately. High: the store is far away, and wants more requests in
    flight."""

    bytes_per_second: float | None = None
    """What one connection gives once it has begun, lately. Low: many connections share a thin line."""

    request_bytes: int = 0
    """How large requests are made where more is wanted: follows from the two before."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where each output image of a batch lies in its source: what the geometric transforms come to, for the decoder."""

    regions: NDArray[np.float64]  # [n, 4] x0, y0, x1, y1: the source area that the output shows
    clips: NDArray[np.int32]  # [n, 4] x0, y0, x1, y1: the source pixels that may be read
    flips: NDArray[np.uint8]  # [n] 1: mirrored left to right
    width: int
    height: int
    fill: int = 0  # where an output pixel's centre lies outside the clip
    mask_fill: int = 0  # the same, in masks

    def __len__(self) -> int:
        return len(self.flips)

    def __repr__(self) -> str:
        return f"Geometry({len(self)} images of {self.width}x{self.height})"


@final
class Pair(tuple[Any, Any]):  # noqa: SLOT001  a tuple has no room for named slots
    """A batch of one image field and one label: unpacks as `images, labels`, and knows its sample ids."""

    ids: Any
    padding: int  # so many samples at the end only fill the batch up: they were loaded before

    def __new__(cls, images: Any, labels: Any, ids: Any, padding: int = 0) -> Pair:
        """Join images and labels, and note the samples' ids."""
        pair = super().__new__(cls, (images, labels))
        pair.ids, pair.padding = ids, padding
        return pair

    @property
    def images(self) -> Any:
        """The first of the two."""
        return self[0]

    @property
    def labels(self) -> Any:
        """The second of the two."""
        return self[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return Pair, (*self, self.ids, self.padding)

    def __repr__(self) -> str:
        return f"Pair({_shape(self.images)}, {_shape(self.labels)})"


@final
class Batch(Mapping[str, Any]):
    """A batch of any fields and labels, by name; ids and padding as a pair has them."""

    def __init__(self, values: dict[str, Any], ids: Any, padding: int = 0) -> None:
        self._values = values
        self.ids, self.padding = ids, padding

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Batch({', '.join(f'{name} {_shape(value)}' for name, value in self.items())})"


def _shape(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"{value.dtype} {list(value.shape)}"
    return f"{type(value).__name__} of {len(value)}"
