"""Items: one field of every sample of a source, before any of it is read.

A sample's field is pictures: one is an image, several are the frames of a clip, in order. `read` gives them as the
bytes that the source holds.

    Files         each a file of a folder
    FrameFiles    each a folder of frames
    Ranges        each a part of a file, in whatever store: what can be opened in place

What must be made first (videos) or unpacked (tables) has items of its own, beside the adapter that finds it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from penstock.errors import SourceError
from penstock.shard.keys import escape
from penstock.storage.local import read_file
from penstock.storage.ranges import plan_reads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from penstock.storage.store import Store
    from penstock.types import Frames

__all__ = ["Files", "FrameFiles", "Items", "Ranges"]


class Items(Protocol):
    """One field of every sample, in the order of the samples. Picklable: other processes read them, too."""

    @property
    def suffixes(self) -> Sequence[str]:
        """What each name has after what its key is made of; empty where there are no names."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many bytes there are to read for each."""

    @property
    def is_far(self) -> bool:
        """Whether reading is mostly waiting."""

    def name(self, position: int) -> str:
        """Say what one is called, relative to the source, fit for printing."""

    def read(self, position: int) -> list[bytes]:
        """Give one's pictures. Raises an OSError where the medium fails, a SourceError where the source is broken."""

    def identity(self) -> Iterator[bytes]:
        """Give what changes when any of them does."""

    def __len__(self) -> int: ...


@final
@dataclass(frozen=True, slots=True)
class Files:
    """Files of a folder."""

    root: str
    names: list[str]  # relative to the root; bytes that are not UTF-8 as lone surrogates
    sizes: NDArray[np.int64]
    mtimes_ns: NDArray[np.int64]
    suffixes: list[str]
    is_far: bool = False

    def __len__(self) -> int:
        return len(self.names)

    def path(self, position: int) -> str:
        """Say where a file is."""
        return os.path.join(self.root, self.names[position])

    def name(self, position: int) -> str:
        """Say what a file is called."""
        return escape(self.names[position])

    def read(self, position: int) -> list[bytes]:
        """Read a file."""
        return [read_file(self.path(position))]

    def identity(self) -> Iterator[bytes]:
        """Give names, sizes, times."""
        yield "\0".join(self.names).encode("utf-8", "surrogateescape")
        yield self.sizes.tobytes()
        yield self.mtimes_ns.tobytes()


@final
@dataclass(frozen=True, slots=True)
class FrameFiles:
    """Folders of frames."""

    frames: Files  # of all folders, one folder after another
    first: NDArray[np.int64]  # where each folder's frames begin among them, and where the last one's end
    names: list[str]  # of the folders, relative to the root
    is_far: bool = False

    def __len__(self) -> int:
        return len(self.names)

    @property
    def suffixes(self) -> list[str]:
        """Give none: folders have no suffixes."""
        return [""] * len(self)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many bytes all frames of each folder have."""
        ends = np.concatenate([[0], np.cumsum(self.frames.sizes)])
        return np.asarray(ends[self.first[1:]] - ends[self.first[:-1]])

    def name(self, position: int) -> str:
        """Say what a folder is called."""
        return escape(self.names[position])

    def read(self, position: int) -> list[bytes]:
        """Read all frames of a folder."""
        where = range(int(self.first[position]), int(self.first[position + 1]))
        return [data for frame in where for data in self.frames.read(frame)]

    def identity(self) -> Iterator[bytes]:
        """Give folders and their files."""
        yield "\0".join(self.names).encode("utf-8", "surrogateescape")
        yield self.first.tobytes()
        yield from self.frames.identity()


@final
@dataclass(frozen=True, slots=True)
class Ranges:
    """Parts of files of a store."""

    store: Store
    files: tuple[str, ...]
    file_bytes: NDArray[np.int64]
    stamp: str  # another one when the content of any file is another
    file: NDArray[np.int32]  # of each, a position among the files
    offset: NDArray[np.int64]
    sizes: NDArray[np.int64]
    names: Sequence[str]
    suffixes: Sequence[str]
    frames: Frames | None = None  # of clips

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def is_far(self) -> bool:
        """Whether the store is."""
        return not self.store.is_local

    def name(self, position: int) -> str:
        """Say which file it is in, and what it is called there."""
        return escape(f"{self.files[self.file[position]]}: {self.names[position]}")

    def read(self, position: int) -> list[bytes]:
        """Read a part of a file."""
        one = slice(position, position + 1)
        plan = plan_reads(np.zeros(1, np.int32), self.offset[one], self.sizes[one])
        block = np.empty(plan.block_bytes, np.uint8)
        for failure in self.store.begin([self.files[self.file[position]]], plan, block).failures():
            where = (int(self.offset[position]), int(self.offset[position] + self.sizes[position]))
            raise failure.error or SourceError("the file ends before these bytes", byte_range=where)
        data = block.tobytes()
        if self.frames is None:
            return [data]
        inside = slice(int(self.frames.first[position]), int(self.frames.first[position + 1]))
        starts, lengths = self.frames.offset[inside].tolist(), self.frames.length[inside].tolist()
        return [data[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    def identity(self) -> Iterator[bytes]:
        """Give the files' stamp and what is where in them."""
        yield "\0".join((self.stamp, *self.files, *self.names)).encode("utf-8", "surrogateescape")
        frames = () if self.frames is None else (self.frames.first, self.frames.offset, self.frames.length)
        for array in (self.file, self.offset, self.sizes, *frames):
            yield array.tobytes()
