"""The batch decoder: encoded bytes of a whole batch become pixels in the caller's memory, one native call at its heart.

Each sample goes one of three ways, decided by a table lookup over the batch:

    JPEG                      native: decodes what the geometry shows, resamples, flips, writes into its slot
    raw pixels (`.npy`)       native: resamples from where the pixels lie in the block
    everything else           Pillow decodes the whole image in a thread of our own, native resamples it into its slot

JPEGs that the native decoder knows but cannot do (CMYK, 12 bits) take the third way too. Masks take it unless they are
raw, because their values must come as stored and be resampled by nearest neighbour.

On the first two ways nothing here costs Python per image. A sample that fails leaves an error at its position and its
slot undefined; the others are not touched by it. What becomes of errors is the caller's decision.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from penstock import _native
from penstock.decode import jpeg
from penstock.decode.array import HeaderBook
from penstock.decode.image import MAX_PIXELS, decode_image, decode_mask
from penstock.errors import ChecksumError, ImageError, InternalError, PenstockError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from penstock.types import Column, Geometry

__all__ = ["BatchDecoder", "Decoded", "Encoded"]

NATIVE_KINDS = {"jpeg": _native.JPEG, "npy": _native.PIXELS}


@final
@dataclass(frozen=True, slots=True)
class Encoded:
    """The encoded bytes of a batch and what the index says about them: parallel arrays, one entry per sample."""

    block: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # in the block
    lengths: NDArray[np.int64]
    format: NDArray[np.uint8]  # a position in `formats`
    formats: tuple[str, ...]
    widths: NDArray[np.int32]
    heights: NDArray[np.int32]
    checksums: NDArray[np.uint32] | None  # None: not verified

    @classmethod
    def of(
        cls,
        column: Column,
        ids: NDArray[np.int64],
        *,
        block: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int64],
        verify: bool = True,
    ) -> Encoded:
        """Join what was read with what the index says about these samples."""
        checksums = column.crc32c[ids] if verify and column.crc32c is not None else None
        return cls(
            block,
            offsets,
            lengths,
            column.format[ids],
            column.formats,
            column.width[ids],
            column.height[ids],
            checksums,
        )

    def __len__(self) -> int:
        return len(self.offsets)

    def bytes_of(self, position: int) -> memoryview:
        """Give one sample's encoded bytes."""
        start = int(self.offsets[position])
        return self.block[start : start + int(self.lengths[position])].data


@final
@dataclass(frozen=True, slots=True)
class Decoded:
    """What became of a batch: an error for each sample without pixels, how many had pixels but also a warning."""

    errors: dict[int, PenstockError] = field(default_factory=dict)
    warned: int = 0


@final
class BatchDecoder:
    """Decodes batches with `threads` native threads; 0: in the calling thread. May be called from several threads."""

    def __init__(self, threads: int, *, max_pixels: int = MAX_PIXELS) -> None:
        self._pool = _native.Pool(threads)
        self._inline = _native.Pool(0)  # resamples what Pillow decoded, in the thread that decoded it
        self._pillow = ThreadPoolExecutor(threads, "penstock-pillow") if threads else None  # starts none until needed
        self._max_pixels = max_pixels
        self._books = {channels: HeaderBook(channels) for channels in (1, 3)}
        self._pid = os.getpid()

    def decode(
        self,
        encoded: Encoded,
        geometry: Geometry,
        out: NDArray[np.uint8],
        *,
        is_mask: bool = False,
        channels_first: bool = True,
        orientations: NDArray[np.uint8] | None = None,
        leave_out: Collection[int] = (),
    ) -> Decoded:
        """Decode every sample into its slot of `out`: [n, C, H, W], or [n, H, W, C]; C is 1 for masks, otherwise 3.

        Samples to `leave_out`, by position, have no bytes worth decoding; their slots are left alone.
        """
        if os.getpid() != self._pid:
            raise UsageError("a decoder cannot be used in a child process", hint="make one in the process that uses it")
        job = _Job(encoded, geometry, out, is_mask, channels_first, orientations)
        kinds = _kinds(encoded, is_mask=is_mask)
        by_pillow = [at for at in np.flatnonzero(kinds == _native.ABSENT).tolist() if at not in leave_out]
        kinds[list(leave_out)] = _native.ABSENT
        found: dict[int, PenstockError] = {}
        offsets, lengths, checksums = encoded.offsets, encoded.lengths, encoded.checksums
        if (raw := np.flatnonzero(kinds == _native.PIXELS)).size:
            offsets, lengths, checksums = self._find_pixels(job, raw, found)
            kinds[list(found)] = _native.ABSENT
        sizes = np.stack([encoded.widths, encoded.heights], axis=1).astype(np.int32, copy=False)
        warned = 0
        for position, status, message in job.run(
            self._pool,
            slice(None),
            block=encoded.block,
            offsets=offsets,
            lengths=lengths,
            kinds=kinds,
            sizes=sizes,
            checksums=checksums,
            max_pixels=self._max_pixels,
        ):
            if status == _native.WARNED:
                warned += 1
            elif status == _native.UNSUPPORTED:
                by_pillow.append(position)
            else:
                found[position] = _error(status, message)
        if by_pillow:
            run = map if self._pillow is None else self._pillow.map
            results = zip(by_pillow, run(partial(self._by_pillow, job), by_pillow), strict=True)
            found |= {position: error for position, error in results if error is not None}
        return Decoded(found, warned)

    def orientations(self, encoded: Encoded) -> NDArray[np.uint8]:
        """Read the EXIF orientation of every JPEG, 1 for anything else. Costs a header parse per image."""
        found = np.ones(len(encoded), np.uint8)
        for position in np.flatnonzero(_kinds(encoded, is_mask=False) == _native.JPEG).tolist():
            with suppress(ImageError):  # decoding will say what is wrong with it
                found[position] = jpeg.probe(encoded.bytes_of(position)).orientation
        return found

    def close(self) -> None:
        """End the threads. Calls under way finish first."""
        if os.getpid() == self._pid:
            self._pool.close()
            if self._pillow is not None:
                self._pillow.shutdown()

    def _find_pixels(
        self, job: _Job, raw: NDArray[np.intp], found: dict[int, PenstockError]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32] | None]:
        """Narrow the raw samples to their pixels, behind their headers."""
        encoded = job.encoded
        header_bytes, parts, errors = self._books[1 if job.is_mask else 3].pixels(
            encoded.block, encoded.offsets[raw], encoded.lengths[raw], encoded.widths[raw], encoded.heights[raw]
        )
        found.update((int(raw[position]), error) for position, error in errors.items())
        offsets, lengths, checksums = encoded.offsets.copy(), encoded.lengths.copy(), encoded.checksums
        offsets[raw] += header_bytes
        lengths[raw] -= header_bytes
        if checksums is not None:
            checksums = checksums.copy()
            checksums[raw] ^= parts
        return offsets, lengths, checksums

    def _by_pillow(self, job: _Job, position: int) -> PenstockError | None:
        """Decode one whole image and resample it into its slot."""
        encoded = job.encoded
        data = encoded.bytes_of(position)
        size = (int(encoded.widths[position]), int(encoded.heights[position]))
        if encoded.checksums is not None and (got := _native.crc32c(data)) != encoded.checksums[position]:
            return _error(_native.CHECKSUM, f"crc32c got {got:08x}, expected {encoded.checksums[position]:08x}")
        try:
            pixels = (decode_mask if job.is_mask else decode_image)(data, max_pixels=self._max_pixels)
        except PenstockError as error:
            return error
        if pixels.shape[1::-1] != size:
            return _error(
                _native.MISMATCH, f"size got {pixels.shape[1]}x{pixels.shape[0]}, expected {size[0]}x{size[1]}"
            )
        outcomes = job.run(
            self._inline,
            slice(position, position + 1),
            block=pixels.reshape(-1),
            offsets=np.zeros(1, np.int64),
            lengths=np.array([pixels.size], np.int64),
            kinds=np.array([_native.PIXELS], np.uint8),
            sizes=np.array([size], np.int32),
            checksums=None,
            max_pixels=self._max_pixels,
        )
        return _error(*outcomes[0][1:]) if outcomes else None


@final
@dataclass(frozen=True, slots=True)
class _Job:
    """One call of `decode`: what its samples have in common on every way."""

    encoded: Encoded
    geometry: Geometry
    out: NDArray[np.uint8]
    is_mask: bool
    channels_first: bool
    orientations: NDArray[np.uint8] | None

    def run(
        self,
        pool: _native.Pool,
        part: slice,
        *,
        block: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int64],
        kinds: NDArray[np.uint8],
        sizes: NDArray[np.int32],
        checksums: NDArray[np.uint32] | None,
        max_pixels: int,
    ) -> list[tuple[int, int, str]]:
        """Call the native core on some of the samples, whose bytes are described by the arguments."""
        geometry = self.geometry
        return pool.decode_batch(
            block,
            offsets,
            lengths,
            kinds,
            sizes,
            geometry.regions[part],
            geometry.clips[part],
            geometry.flips[part],
            self.out[part],
            checksums=checksums,
            orientations=None if self.orientations is None else self.orientations[part],
            channels_first=self.channels_first,
            nearest=self.is_mask,
            fill=geometry.mask_fill if self.is_mask else geometry.fill,
            max_pixels=max_pixels,
        )


def _kinds(encoded: Encoded, *, is_mask: bool) -> NDArray[np.uint8]:
    table = [NATIVE_KINDS.get(name, _native.ABSENT) for name in encoded.formats] or [_native.ABSENT]
    if is_mask:
        table = [kind if kind == _native.PIXELS else _native.ABSENT for kind in table]
    kinds: NDArray[np.uint8] = np.array(table, np.uint8)[encoded.format]
    return kinds


def _error(status: int, message: str) -> PenstockError:
    if status == _native.CHECKSUM:
        return ChecksumError(
            f"stored bytes do not match the index: {message}",
            hint="run `penstock verify` on the dataset; pack it again or restore the file",
        )
    if status == _native.MISMATCH:
        return ImageError(
            f"the image is not the one that the index describes: {message}", hint="pack or open the dataset again"
        )
    if status == _native.BROKEN:
        return ImageError(f"the image cannot be decoded: {message}")
    return InternalError(f"the native core reported status {status}: {message}")
