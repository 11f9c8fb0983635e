"""A video file becomes JPEG frames: decoded by PyAV, chosen by time, turned upright, scaled, encoded.

Without a rate every frame is kept. With one there is a frame per tick: ticks are 1/rate apart from the first frame's
time on, as many as the video is long, rounded, and at least one. Each shows the frame whose time is nearest, the
earlier of two that are equally near; so a video of any rate, or of none, becomes one of this rate. Times are fractions,
as the container has them: nothing is lost to rounding.

A frame is turned and mirrored as the video's display matrix says, in quarters. Pixels are not made square.

A video is taken whole or not at all: a packet or a frame that the decoder calls corrupt, times that go back, a file
that ends too early (container.py) are errors. Whether damage shows is up to the codec: few bits of a stream are
redundant, and some flipped ones decode into other pixels.

FFmpeg is told to open one local file of a few formats: some that it knows name other files, or hosts, to read instead.
One thread decodes a video, since packing works on many at a time.
"""

from __future__ import annotations

import importlib
import struct
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from PIL import Image

from penstock.decode.image import MAX_PIXELS
from penstock.errors import SourceError, UsageError
from penstock.ingest.container import check_whole
from penstock.ingest.reencode import DEFAULT_QUALITY, encode_pixels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from penstock.ingest.recipe import Recipe

__all__ = ["at_rate", "need_av", "oriented", "video_frames"]

_OPTIONS = {
    "protocol_whitelist": "file",
    "format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi",  # by the names of FFmpeg's demuxers
}

_LONGEST_SECONDS = 600  # that one frame is shown: beyond it a time is taken for damaged, not repeated without end

Picture = TypeVar("Picture")
Made = TypeVar("Made")


def need_av() -> Any:
    """Import PyAV, or say how to get it."""
    try:
        return importlib.import_module("av")
    except ImportError as error:
        raise UsageError(f"reading videos needs PyAV: {error}", hint="pip install penstock[video]") from error


def video_frames(path: str, frame_rate: float | None, recipe: Recipe) -> list[bytes]:
    """Decode a video file; give its frames as JPEGs."""
    av = need_av()
    check_whole(path)
    found: list[bytes]
    try:
        with av.open(f"file:{path}", options=_OPTIONS, metadata_errors="replace") as container:
            stream = container.streams.best("video")
            if stream is None or stream.codec_context is None:
                raise SourceError("there is no video in the file")
            stream.codec_context.thread_count = 1
            stream.codec_context.options = {"max_pixels": str(MAX_PIXELS)}
            frames = _sound_frames(container.demux(stream))
            if frame_rate is None:
                found = [_jpeg(frame, recipe) for frame in frames]
            else:
                timed = ((*_times(frame, stream.time_base), frame) for frame in frames)
                rate = Fraction(frame_rate).limit_denominator(1_000_000)
                found = at_rate(timed, rate, lambda frame: _jpeg(frame, recipe))
    except av.error.FFmpegError as error:
        raise SourceError(f"the video cannot be decoded: {error.strerror}") from error
    if not found:
        raise SourceError("the video has no frames")
    return found


def at_rate(
    frames: Iterable[tuple[Fraction, Fraction, Picture]], rate: Fraction, make: Callable[[Picture], Made]
) -> list[Made]:
    """Choose the picture nearest to each tick, and make something of it, once for however many ticks.

    Frames come with their time and how long they are shown (0: not known).
    """
    found: list[Made] = []
    first, count = Fraction(0), 0
    last: tuple[Fraction, Fraction, Picture] | None = None
    for frame in frames:
        time, count = frame[0], count + 1
        if last is None:
            first = time
        elif time < last[0]:
            hint = "pack it without a frame rate, or write it anew (remux it)"
            got, expected = f"{float(time):.3f} s", f"{float(last[0]):.3f} s or later"
            raise SourceError("the frames' times go back", got=got, expected=expected, hint=hint)
        else:
            _check_shown(time - last[0])
            _fill(found, int(((last[0] + time) / 2 - first) * rate) + 1, last[2], make)
        last = frame
    if last is None:
        return []
    time, shown_for, picture = last
    if not shown_for and count > 1:
        shown_for = (time - first) / (count - 1)
    _check_shown(shown_for)
    ticks = max(1, int((time + shown_for - first) * rate + Fraction(1, 2)))
    _fill(found, ticks, picture, make)
    return found[:ticks]


def _check_shown(seconds: Fraction) -> None:
    if seconds > _LONGEST_SECONDS:
        hint = "pack it without a frame rate, or write it anew (remux it)"
        expected = f"at most {_LONGEST_SECONDS} s"
        raise SourceError("a frame is shown for too long", got=f"{float(seconds):.0f} s", expected=expected, hint=hint)


def _fill(found: list[Made], length: int, picture: Picture, make: Callable[[Picture], Made]) -> None:
    """Lengthen a list by one picture."""
    if len(found) < length:
        found += [make(picture)] * (length - len(found))


def oriented(pixels: NDArray[np.uint8], matrix: tuple[int, ...]) -> NDArray[np.uint8]:
    """Turn and mirror [height, width, channels] pixels as a display matrix says.

    It takes what is at (x, y) to (ax + cy, bx + dy); a, b are its first two numbers, c, d its fourth and fifth.
    """
    a, b, _, c, d = matrix[:5]
    if a and d and not b and not c:
        across, down = a, d
    elif b and c and not a and not d:
        pixels, across, down = pixels.transpose(1, 0, 2), c, b
    else:
        got, expected = f"a display matrix of {a}, {b}, {c}, {d}", "one of quarter turns"
        raise SourceError("the video is turned by an odd angle", got=got, expected=expected)
    return np.ascontiguousarray(pixels[:: -1 if down < 0 else 1, :: -1 if across < 0 else 1])


def _sound_frames(packets: Iterable[Any]) -> Iterator[Any]:
    """Decode packets, and stop at the first that is damaged."""
    number = 0
    for packet in packets:
        for frame in packet.decode():
            if frame.is_corrupt:
                raise SourceError(f"frame {number} is corrupt")
            number += 1
            yield frame
        if packet.is_corrupt:
            raise SourceError(f"a packet is corrupt, near frame {number}")


def _times(frame: Any, time_base: Fraction) -> tuple[Fraction, Fraction]:
    if frame.pts is None:
        hint = "pack it without a frame rate"
        raise SourceError("a frame has no time, so there is no choosing by rate", hint=hint)
    base = frame.time_base or time_base
    return frame.pts * base, max(0, frame.duration or 0) * base


def _jpeg(frame: Any, recipe: Recipe) -> bytes:
    pixels = frame.to_ndarray(format="rgb24")
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if matrix is not None:
        pixels = oriented(pixels, struct.unpack("=9i", bytes(matrix)))
    height, width = pixels.shape[:2]
    size = recipe.fitted(width, height)
    if size != (width, height):
        pixels = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS))
    return encode_pixels(pixels, recipe.quality or DEFAULT_QUALITY)
