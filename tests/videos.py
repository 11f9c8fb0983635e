"""Videos for tests, written by PyAV: of several codecs and containers, at even and uneven times, turned, damaged."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import lru_cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import av
import numpy as np

from tests import images

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CODECS = {"mp4": "libx264", "mov": "mpeg4", "webm": "libvpx-vp9", "mkv": "libx264", "avi": "mpeg4"}
UNEVEN = (0, 30, 400, 410, 900, 1000, 1300, 1310, 1400, 2000)  # milliseconds


def even(count: int, rate: int = 10) -> tuple[int, ...]:
    """Times in milliseconds of so many frames at a rate that divides 1000."""
    return tuple(range(0, count * 1000 // rate, 1000 // rate))


@lru_cache(maxsize=64)
def video(
    suffix: str = "mp4",
    times_ms: Sequence[int] = even(10),
    *,
    seed: int = 0,
    width: int = 64,
    height: int = 48,
    degrees: int = 0,
    mirrored: bool = False,
    options: tuple[tuple[str, str], ...] = (),
) -> bytes:
    """A video whose frames are photographs that grow brighter: another one for every seed, the same for the same."""
    pixels = images.photo(width, height, seed=seed) // 2
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, f"video.{suffix}")
        with av.open(path, "w", container_options=dict(options)) as container:
            stream = container.add_stream(CODECS[suffix], rate=10)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.codec_context.time_base, stream.codec_context.thread_count = Fraction(1, 1000), 1
            if degrees or mirrored:
                stream.set_display_rotation(degrees, hflip=mirrored)
            container.start_encoding()
            for number, time in enumerate(times_ms):
                frame = av.VideoFrame.from_ndarray(pixels + np.uint8(6 * number), "rgb24")
                frame.pts, frame.time_base = time, Fraction(1, 1000)
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        with open(path, "rb") as file:
            return file.read()


def decoded(path: object) -> list[NDArray[np.uint8]]:
    """All frames of a video, upright as they are stored: what PyAV makes of them when nothing is said."""
    with av.open(str(path)) as container:
        return [np.asarray(frame.to_image()) for frame in container.decode(video=0)]


def times(path: object) -> list[Fraction]:
    """When each frame of a video is shown, and last when the video ends."""
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    begins = [frame.pts * frame.time_base for frame in frames]
    last = frames[-1].duration * frames[-1].time_base or (begins[-1] - begins[0]) / (len(begins) - 1)
    return [*begins, begins[-1] + last]


def sound() -> bytes:
    """A tenth of a second of silence, and no picture."""
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "sound.mp4")
        with av.open(path, "w") as container:
            stream = container.add_stream("aac", rate=16_000)
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1600), np.float32), "fltp", "mono")
            frame.sample_rate = 16_000
            container.mux(stream.encode(frame))
            container.mux(stream.encode())
        with open(path, "rb") as file:
            return file.read()
