"""LMDB files for tests, written by the real library in the layouts of those who wrote them."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmdb
import msgpack
import msgpack_numpy
import numpy as np

from tests import folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GOLDEN = Path(__file__).parent / "golden" / "sources"


def write(path: Path, records: Iterable[tuple[bytes, bytes]], *, is_folder: bool = False) -> Path:
    """Write a file, or a folder with one."""
    records = list(records)
    room = 4 * sum(len(value) + 4096 for _, value in records) + (1 << 20)
    opened = lmdb.open(str(path), subdir=is_folder, map_size=room, lock=False)
    with opened as environment, environment.begin(write=True) as writing:
        for key, value in records:
            assert writing.put(key, value)
    return path


def jpegs(count: int) -> list[bytes]:
    """Images, some of which are larger than a page."""
    return [folders.jpeg(at, *((40, 24) if at % 3 else (160, 120))) for at in range(count)]


def messagepack(value: Any) -> bytes:
    """As tensorpack packs."""
    packed: bytes = msgpack.packb(value, default=msgpack_numpy.encode, use_bin_type=True)
    return packed


def efficient(path: Path, count: int = 12, dumps: Callable[[Any], bytes] = pickle.dumps, **options: Any) -> Path:
    """Efficient-PyTorch's layout."""
    keys = [str(at).encode() for at in range(count)]
    values = [dumps((data, at % 3)) for at, data in enumerate(jpegs(count))]
    rest = [(b"__keys__", dumps(keys)), (b"__len__", dumps(count))]
    return write(path, [*zip(keys, values, strict=True), *rest], **options)


def tensorpack(path: Path, count: int = 12, dumps: Callable[[Any], bytes] = messagepack, **options: Any) -> Path:
    """tensorpack's layout."""
    keys = [f"{at:08d}".encode() for at in range(count)]
    values = [dumps([np.frombuffer(data, np.uint8), at % 3]) for at, data in enumerate(jpegs(count))]
    return write(path, [*zip(keys, values, strict=True), (b"__keys__", dumps(keys))], **options)


def datum(data: bytes, label: int, shape: tuple[int, int, int] | None = None) -> bytes:
    """Caffe's Datum, field by field as its protobuf says."""
    fields = b"" if shape is None else b"".join(_tag(at, 0) + _varint(side) for at, side in enumerate(shape, 1))
    fields += _tag(4, 2) + _varint(len(data)) + data + _tag(5, 0) + _varint(label)
    return fields + (_tag(7, 0) + _varint(1) if shape is None else b"")


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(value: int) -> bytes:
    value %= 1 << 64
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def golden(version: str) -> dict[str, bytes]:
    """Values that an old Arrow wrote."""
    found = json.loads((GOLDEN / f"{version}.json").read_text())
    return {name: base64.b64decode(text) for name, text in found.items()}
