"""Directories of GulpIO for tests: written by the real GulpIO2, or byte by byte from what is known of version 1."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import gulpio2

from tests import images

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

LABELS = ("Swiping Left", "Stop Sign", "No gesture")


def pixels(item: int, number: int) -> NDArray[np.uint8]:
    """One frame, another for every item and number."""
    return images.photo(48, 32, seed=1000 * item + number)


def frame_count(item: int) -> int:
    """How many frames a clip has: 2 to 5."""
    return 2 + item % 4


def label(item: int) -> str:
    return LABELS[item % len(LABELS)]


class Adapter:
    """Items as GulpIO2's adapters give them: pixels and what is said of them, with labels numbered."""

    def __init__(self, folder: Path, items: Sequence[int], frames: int | None = None) -> None:
        self.folder, self.items, self.frames = folder, items, frames
        self.numbers = {name: number for number, name in enumerate(sorted(LABELS))}

    def __len__(self) -> int:
        return len(self.items)

    def said(self, item: int) -> dict[str, Any]:
        return {"id": f"{100 + item}", "label": label(item), "idx": self.numbers[label(item)], "take": item % 2}

    def iter_data(self, which: slice) -> Iterator[dict[str, Any]]:
        for item in self.items[which]:
            frames = [pixels(item, number) for number in range(self.frames or frame_count(item))]
            yield {"id": f"{100 + item}", "frames": frames, "meta": self.said(item)}


def written_by_gulpio2(folder: Path, items: Sequence[int], per_chunk: int, *, frames: int | None = None) -> Path:
    """Have GulpIO2's own chunks written, one after another, in this process."""
    folder.mkdir(parents=True, exist_ok=True)
    adapter = Adapter(folder, items, frames)
    slices = gulpio2.fileio.calculate_chunk_slices(per_chunk, len(adapter))
    writer = gulpio2.ChunkWriter(adapter)
    for chunk, which in zip(gulpio2.GulpDirectory(str(folder)).new_chunks(len(slices)), slices, strict=True):
        writer.write_chunk(chunk, which)
    (folder / "label2idx.json").write_text(json.dumps(adapter.numbers))
    return folder


def read_by_gulpio2(folder: Path) -> dict[str, tuple[list[bytes], dict[str, Any]]]:
    """Have GulpIO2 read every item: its JPEGs, undecoded, and what is said of it, in GulpIO2's order."""
    directory = gulpio2.GulpDirectory(str(folder), jpeg_decoder=bytes)
    return {name: directory[name] for name in directory.merged_meta_dict}


def version_1(folder: Path, items: Sequence[int], per_chunk: int) -> Path:
    """Write what version 1 writes (JPEGs of quality 95), from the description of its format alone."""
    folder.mkdir(parents=True, exist_ok=True)
    adapter = Adapter(folder, items)
    for number, begin in enumerate(range(0, len(items), per_chunk)):
        data, meta = bytearray(), {}
        for item in items[begin : begin + per_chunk]:
            rows = []
            for frame in range(frame_count(item)):
                jpeg = images.jpeg(pixels(item, frame), quality=95)
                zeros = (4 - len(jpeg) % 4) % 4
                rows.append([len(data), zeros, len(jpeg) + zeros])
                data += jpeg + b"\0" * zeros
            meta[f"{100 + item}"] = {"frame_info": rows, "meta_data": [adapter.said(item)]}
        (folder / f"data_{number}.gulp").write_bytes(data)
        (folder / f"meta_{number}.gmeta").write_text(json.dumps(meta))
    (folder / "label2idx.json").write_text(json.dumps(adapter.numbers))
    return folder
