"""Whether a video file is whole, by what its container says of its own length. No decoding, few reads.

FFmpeg plays what is there of a file that was cut off, and says nothing. But the containers know how long they are:

    MP4, MOV     boxes one after another: 4 bytes of length, 4 of type; length 1: 8 more bytes of it; 0: to the end
    AVI          RIFF, then 4 bytes of length
    WebM, MKV    an EBML header, then the segment: 4 bytes of type, 1 to 8 of length; all ones: to the end

What is recorded live says "to the end"; there it cannot be known. Files of other kinds are left to FFmpeg.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from penstock.errors import SourceError

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["check_whole"]

_BOXES = {b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot", b"styp", b"moof"}  # a file's first
_EBML, _SEGMENT = b"\x1aE\xdf\xa3", b"\x18S\x80g"


def check_whole(path: str) -> None:
    """Raise SourceError if a file is shorter than it says."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(12)
        if start[4:8] in _BOXES:
            end = _end_of_boxes(file, size)
        elif start[:4] == b"RIFF" and start[8:] == b"AVI ":
            end = 8 + int.from_bytes(start[4:8], "little")
        elif start[:4] == _EBML:
            end = _end_of_segment(file, size)
        else:
            end = 0
    if not size:
        raise SourceError("the file is empty")
    if end > size:
        raise SourceError("the file is cut off", got=f"{size} bytes", expected=f"at least {end}")


def _end_of_boxes(file: BinaryIO, size: int) -> int:
    """Go from box to box; where the last one ends."""
    position = 0
    while position < size:
        file.seek(position)
        header = file.read(16)
        length = int.from_bytes(header[:4], "big")
        if length == 1:
            length = int.from_bytes(header[8:16].ljust(8, b"\xff"), "big")
        if length == 0:
            return size
        position += max(8, length)
    return position


def _end_of_segment(file: BinaryIO, size: int) -> int:
    """Step over the header; where the segment ends, or the file's size if it does not say."""
    file.seek(4)
    header = _length(file)
    if header is None:
        return size
    end = file.tell() + header
    if end >= size:
        return end + len(_SEGMENT)
    file.seek(end)
    kind = file.read(4)
    if kind != _SEGMENT:
        return size
    length = _length(file)
    return size if length is None else file.tell() + length


def _length(file: BinaryIO) -> int | None:
    """Read a length of EBML: as many leading zero bits as it has further bytes, then a one, then the number."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    further = 8 - first[0].bit_length()
    bits = 7 * (further + 1)
    number = int.from_bytes(first + file.read(further), "big") & ((1 << bits) - 1)
    return None if number == (1 << bits) - 1 else number
