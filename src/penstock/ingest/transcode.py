"""One source file becomes one stored field: read, recognised, rewritten, checked. One sample at a time, in any thread.

What may happen to an image (the outcome):

    tiled        a JPEG, rewritten losslessly so that crops can be decoded alone
    kept         stored byte for byte: another format, a JPEG that cannot be tiled, or all of them on request
    re-encoded   made smaller on purpose
    decoded      stored as pixels on request

Whatever is stored is known to be decodable: tiling reads every coefficient of a JPEG, everything else is decoded here
once.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.decode import jpeg
from penstock.decode.image import decode_image, decode_mask, probe_image, sniff
from penstock.errors import ImageError, UsageError
from penstock.ingest.reencode import DEFAULT_QUALITY, encode_jpeg, encode_npy, encode_png, fitted, pixels_of
from penstock.ingest.source import BROKEN, NOT_AN_IMAGE, UNREADABLE, Skipped, Source, shown
from penstock.shard.sample import SampleBytes, sample_bytes
from penstock.storage.local import read_file
from penstock.types import Record, StoredField

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DECODED", "KEPT", "REENCODED", "TILED", "Recipe", "Transcoded", "transcode", "transcoded"]

TILED = "tiled"
KEPT = "kept"
REENCODED = "re-encoded"
DECODED = "decoded"
_AT_ONCE = 8  # samples per task: the cost of handing over a task vanishes beside eight images


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to do to images."""

    keep_bytes: bool = False  # store files as they are
    max_side: int | None = None  # scale down what is larger, and encode it again
    quality: int | None = None  # JPEG quality of what is encoded again; without max_side, that is everything
    raw: bool = False  # store decoded pixels

    def __post_init__(self) -> None:
        if self.keep_bytes and (self.raw or self.max_side is not None or self.quality is not None):
            raise UsageError("keep_bytes stores files as they are: it goes with none of raw, max_side, quality")
        if self.raw and self.quality is not None:
            raise UsageError("raw stores pixels: there is no quality to choose")
        if self.max_side is not None and self.max_side < 1:
            raise UsageError("max_side is in pixels", got=self.max_side, expected="at least 1")
        if self.quality is not None and not 1 <= self.quality <= 100:
            raise UsageError("quality out of range", got=self.quality, expected="1 to 100")

    def as_dict(self) -> dict[str, Any]:
        """Give the settings, for the manifest."""
        return asdict(self)

    def reencodes(self, width: int, height: int) -> bool:
        """Whether an image of this size is encoded again."""
        if self.max_side is None:
            return self.quality is not None
        return fitted(width, height, self.max_side) != (width, height)


@dataclass(frozen=True, slots=True)
class Transcoded:
    """A sample ready to be written, and what was done to its image."""

    sample: SampleBytes
    outcome: str
    why: str  # why it was kept; empty otherwise
    source_bytes: int


def transcode(source: Source, position: int, labels: dict[str, Any], recipe: Recipe) -> Transcoded | Skipped:
    """Turn a sample's files into its stored form; what cannot be stored comes back as Skipped, with the reason."""
    key = source.keys[position]
    fields: dict[str, StoredField] = {}
    outcome, why, size = KEPT, "", 0
    for name, files in source.fields.items():
        where = shown(files.names[position])
        try:
            data = read_file(files.path(position))
        except OSError as error:
            return Skipped(where, UNREADABLE, error.strerror or str(error))
        size += len(data)
        if sniff(data) is None:
            return Skipped(where, NOT_AN_IMAGE, "the file is empty" if not data else f"it begins {data[:4].hex(' ')}")
        try:
            if name == "mask":
                fields[name] = _stored_mask(data, recipe)
            else:
                fields[name], outcome, why = _stored_image(data, recipe)
        except ImageError as error:
            return Skipped(where, BROKEN, str(error))
    sizes = {(field.width, field.height) for field in fields.values()}
    if len(sizes) > 1:
        found = " and ".join(f"{width}x{height}" for width, height in sorted(sizes))
        return Skipped(shown(source.fields["image"].names[position]), BROKEN, f"the fields' sizes differ: {found}")
    suffixes = {name: files.suffixes[position] for name, files in source.fields.items()}
    return Transcoded(sample_bytes(Record(key, fields, labels), suffixes), outcome, why, size)


def _stored_image(data: bytes, recipe: Recipe) -> tuple[StoredField, str, str]:
    format_, width, height = probe_image(data)
    if recipe.raw:
        pixels = pixels_of(data, fitted(width, height, recipe.max_side), is_mask=False)
        return _as_npy(pixels), DECODED, ""
    if recipe.reencodes(width, height):
        width, height = fitted(width, height, recipe.max_side)
        pixels = pixels_of(data, (width, height), is_mask=False)
        again = encode_jpeg(pixels, recipe.quality or DEFAULT_QUALITY, data)
        return StoredField(jpeg.tile(again).data, "jpeg", width, height), REENCODED, ""
    why = "as asked" if recipe.keep_bytes else format_
    if format_ == "jpeg" and not recipe.keep_bytes:
        tiled = jpeg.tile(data)
        if tiled.is_tiled:
            return StoredField(tiled.data, format_, width, height), TILED, ""
        why = tiled.outcome
    decode_image(data)  # raises where the file breaks off or cannot be decoded by any reader here
    return StoredField(data, format_, width, height), KEPT, why


def _stored_mask(data: bytes, recipe: Recipe) -> StoredField:
    format_, width, height = probe_image(data)
    size = fitted(width, height, recipe.max_side)
    if recipe.raw:
        return _as_npy(pixels_of(data, size, is_mask=True))
    if size != (width, height):
        return StoredField(encode_png(pixels_of(data, size, is_mask=True)), "png", *size)
    decode_mask(data)
    return StoredField(data, format_, width, height)


def _as_npy(pixels: NDArray[np.uint8]) -> StoredField:
    return StoredField(encode_npy(pixels), "npy", pixels.shape[1], pixels.shape[0])


def transcoded(
    source: Source, order: Sequence[int], recipe: Recipe, threads: int
) -> Generator[Transcoded | Skipped, None, None]:
    """Transcode samples in threads; results come in the order given.

    At most a few tasks per thread are held in memory.
    """
    values = source.label_values()

    def run(positions: Sequence[int]) -> list[Transcoded | Skipped]:
        return [
            transcode(source, position, {name: column[position] for name, column in values.items()}, recipe)
            for position in positions
        ]

    waiting: deque[Future[list[Transcoded | Skipped]]] = deque()
    with ThreadPoolExecutor(threads, "penstock-transcode") as pool:
        try:
            for start in range(0, len(order), _AT_ONCE):
                waiting.append(pool.submit(run, order[start : start + _AT_ONCE]))
                if len(waiting) > 2 * threads:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for task in waiting:
                task.cancel()
