"""Codecs and primitives, by core: what turning bytes into pixels costs, with everything in memory.

Images of the data are encoded anew where another codec or quality is asked for; `jpeg` with quality 0 is the data as
they are. Pillow's `open` alone decodes nothing, so each primitive is made to finish its work. Threads share one
process: Pillow and libjpeg-turbo let go of the interpreter while they work.
"""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench.case import Case
from penstock.bench.layers.calls import repeat
from penstock.bench.rehearsal import crop_box
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LABEL", "PRIMARY", "Settings", "measure"]

LABEL = "decoding, everything in memory"
PRIMARY = "samples_per_second"
CODECS = {"jpeg": "JPEG", "webp": "WEBP", "png": "PNG", "jpeg2000": "JPEG2000"}
PRIMITIVES = ("decode", "header", "crop", "resize", "encode")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is decoded, with what, by how many threads."""

    data: str
    codec: str = "jpeg"
    quality: int = 0  # to encode with; 0: the codec's default, or the data as they are
    library: str = "pillow"  # or "turbo" (simplejpeg), "opencv"
    primitive: str = "decode"
    cores: int = 1
    images: int = 200  # of the data, used again and again
    size: int = 224  # of `crop` and `resize`
    seconds: float = 2.0
    seed: int = 0


def measure(settings: Settings, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure one primitive."""
    for name, value, known in (
        ("codec", settings.codec, CODECS),
        ("primitive", settings.primitive, PRIMITIVES),
        ("library", settings.library, LIBRARIES),
    ):
        if value not in known:
            raise UsageError(f"no such {name}", got=value, expected=f"one of {', '.join(known)}")
    draws = random.Random(settings.seed)  # noqa: S311 a choice of images, no secret
    files = Case.of(settings.data).files()
    chosen = draws.sample(files, min(settings.images, len(files)))
    encoded = [_encoded(Path(path).read_bytes(), settings) for path, _ in chosen]
    call = _primitive(settings, encoded)
    done = repeat(call, seconds=settings.seconds, threads=settings.cores, warmup=len(encoded), tell=tell)
    sizes = [len(data) for data in encoded]
    return {"values": {**done.values(), "encoded_bytes_per_sample": sum(sizes) / len(sizes)}}


def _encoded(data: bytes, settings: Settings) -> bytes:
    """Encode an image anew, unless it is wanted as it is."""
    if settings.codec == "jpeg" and not settings.quality:
        return data
    image = import_module("PIL.Image")
    with image.open(io.BytesIO(data)) as file:
        return _write(file.convert("RGB"), settings)


def _write(image: Any, settings: Settings) -> bytes:
    out = io.BytesIO()
    image.save(out, CODECS[settings.codec], **({"quality": settings.quality} if settings.quality else {}))
    return out.getvalue()


def _primitive(settings: Settings, encoded: list[bytes]) -> Callable[[int], int]:
    """Make what is repeated: by number, giving the encoded bytes that it handled."""
    decode = LIBRARIES[settings.library]()
    image = import_module("PIL.Image")
    pixels = [decode(data) for data in encoded] if settings.primitive in {"resize", "encode"} else []
    shown = [image.fromarray(array) for array in pixels]
    side = (settings.size, settings.size)

    def header(number: int) -> int:
        data = encoded[number % len(encoded)]
        with image.open(io.BytesIO(data)) as file:
            return len(data) if file.size[0] else 0

    def whole(number: int) -> int:
        data = encoded[number % len(encoded)]
        decode(data)
        return len(data)

    def crop(number: int) -> int:
        data = encoded[number % len(encoded)]
        found = image.fromarray(decode(data))
        np.asarray(found.resize(side, image.Resampling.BILINEAR, box=crop_box(*found.size)))
        return len(data)

    def resize(number: int) -> int:
        shown[number % len(shown)].resize(side, image.Resampling.BILINEAR)
        return 0

    def encode(number: int) -> int:
        return len(_write(shown[number % len(shown)], settings))

    return {"decode": whole, "header": header, "crop": crop, "resize": resize, "encode": encode}[settings.primitive]


def _pillow() -> Callable[[bytes], Any]:
    image = import_module("PIL.Image")

    def decode(data: bytes) -> Any:
        with image.open(io.BytesIO(data)) as file:
            return np.asarray(file.convert("RGB"))

    return decode


def _turbo() -> Callable[[bytes], Any]:
    decode: Callable[[bytes], Any] = import_module("simplejpeg").decode_jpeg
    return decode


def _opencv() -> Callable[[bytes], Any]:
    cv2 = import_module("cv2")
    return lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)


LIBRARIES: dict[str, Callable[[], Callable[[bytes], Any]]] = {"pillow": _pillow, "turbo": _turbo, "opencv": _opencv}
