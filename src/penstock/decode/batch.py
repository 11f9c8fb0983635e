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
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from penstock import _native
from penstock.decode import jpeg
from penstock.decode.array import HeaderBook
from penstock.decode.image import MAX_PIXELS, decode_image, decode_mask, orientation_of
from penstock.errors import ChecksumError, ImageError, InternalError, PenstockError, UsageError
from penstock.types import UNREAD

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from penstock.types import Column, Geometry

__all__ = ["HEADER_UNREAD", "BatchDecoder", "Decoded", "Encoded", "Expected", "way"]

HEADER_UNREAD = (
    254  # the way of an image that has none before its header is read (headers.py); none of the native core's
)


@final
@dataclass(frozen=True, slots=True)
class Expected:
    """What the index says about some samples' encoded bytes: parallel arrays, an entry per image.

    That is one per sample, or as many as its clip shows `frames`.
    """

    kinds: NDArray[np.uint8]  # which way each goes, by the native core's names
    sizes: NDArray[np.int32]  # [n, 2] width, height
    checksums: NDArray[np.uint32] | None  # None: not verified
    is_mask: bool
    is_jpeg: bool  # all of the column are: nothing goes another way
    is_unread: bool = False  # there may be some whose headers are still to be read
    frames: int = 1  # of each sample, one after another

    @classmethod
    def of(
        cls,
        column: Column,
        ids: NDArray[np.int64],
        chosen: NDArray[np.int64] | None = None,
        *,
        is_mask: bool = False,
        verify: bool = True,
    ) -> Expected:
        """Look up samples in a column; of clips the `chosen` frames, [samples, frames] positions among all of them."""
        ways = [way(name, is_mask=is_mask) for name in column.formats]
        frames, sums = 1, column.crc32c
        images = ids
        if chosen is not None and column.frames is not None:
            frames, sums = chosen.shape[1], column.frames.crc32c
            ids, images = np.repeat(ids, frames), chosen.reshape(-1)
        sizes = np.empty((len(ids), 2), np.int32)
        sizes[:, 0], sizes[:, 1] = column.width[ids], column.height[ids]
        return cls(
            kinds=np.array(ways or [_native.ABSENT], np.uint8)[column.format[ids]],
            sizes=sizes,
            checksums=sums[images] if verify and sums is not None else None,
            is_mask=is_mask,
            is_jpeg=set(ways) == {_native.JPEG},
            is_unread=HEADER_UNREAD in ways,
            frames=frames,
        )

    def part(self, part: slice) -> Expected:
        """Give some of the samples, a run of them: views, no copies."""
        part = slice(part.start * self.frames, part.stop * self.frames)
        checksums = None if self.checksums is None else self.checksums[part]
        return replace(self, kinds=self.kinds[part], sizes=self.sizes[part], checksums=checksums)


def way(name: str, *, is_mask: bool) -> int:
    """Say which way images of a format go."""
    if name == "npy":
        return _native.PIXELS
    if name == UNREAD:
        return HEADER_UNREAD
    return _native.JPEG if name in {"jpeg", "mjpeg"} and not is_mask else _native.ABSENT


@final
@dataclass(frozen=True, slots=True)
class Encoded:
    """The encoded bytes of a batch, and what the index says about them."""

    expected: Expected
    block: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # in the block
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.offsets) // self.expected.frames

    def part(self, part: slice) -> Encoded:
        """Give some of the samples, a run of them: views, no copies."""
        images = slice(part.start * self.expected.frames, part.stop * self.expected.frames)
        return replace(
            self, expected=self.expected.part(part), offsets=self.offsets[images], lengths=self.lengths[images]
        )

    def bytes_of(self, position: int) -> memoryview:
        """Give one image's encoded bytes."""
        start = int(self.offsets[position])
        return self.block[start : start + int(self.lengths[position])].data


@final
@dataclass(frozen=True, slots=True)
class Decoded:
    """What became of a batch, by position: errors of those without pixels, and who had pixels but also a warning."""

    errors: dict[int, PenstockError] = field(default_factory=dict)
    warned: frozenset[int] = frozenset()


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

    @property
    def is_inherited(self) -> bool:
        """Whether this is a child process, which has the decoder but not its threads."""
        return os.getpid() != self._pid

    def decode(
        self,
        encoded: Encoded,
        geometry: Geometry,
        out: NDArray[np.uint8],
        *,
        channels_first: bool = True,
        orientations: NDArray[np.uint8] | None = None,
        leave_out: Collection[int] = (),
    ) -> Decoded:
        """Decode every image into its slot of `out`: [n, C, H, W], or [n, H, W, C]; C is 1 for masks, otherwise 3.

        Frames of clips may also go into [clips, C, T, H, W], see clip.py. Images to `leave_out`, by position, have no
        bytes worth decoding; their slots are left alone.
        """
        if self.is_inherited:
            raise UsageError("a decoder cannot be used in a child process", hint="make one in the process that uses it")
        expected, job = encoded.expected, _Job(encoded, geometry, out, channels_first, orientations)
        kinds, offsets, lengths, checksums = expected.kinds, encoded.offsets, encoded.lengths, expected.checksums
        by_pillow: list[int] = []
        errors: dict[int, PenstockError] = {}
        if leave_out:
            kinds = kinds.copy()
            kinds[list(leave_out)] = _native.ABSENT
        if not expected.is_jpeg:
            by_pillow = [at for at in np.flatnonzero(kinds == _native.ABSENT).tolist() if at not in leave_out]
            if (raw := np.flatnonzero(kinds == _native.PIXELS)).size:
                offsets, lengths, checksums, errors = self._find_pixels(encoded, raw)
                kinds = kinds.copy()
                kinds[list(errors)] = _native.ABSENT
        warned: list[int] = []
        for position, status, message in job.run(
            self._pool,
            block=encoded.block,
            offsets=offsets,
            lengths=lengths,
            kinds=kinds,
            sizes=expected.sizes,
            checksums=checksums,
            max_pixels=self._max_pixels,
        ):
            if status == _native.WARNED:
                warned.append(position)
            elif status == _native.UNSUPPORTED:
                by_pillow.append(position)
            else:
                errors[position] = _error(status, message)
        if by_pillow:
            run = map if self._pillow is None else self._pillow.map
            results = zip(by_pillow, run(partial(self._by_pillow, job), by_pillow), strict=True)
            errors |= {position: error for position, error in results if error is not None}
        return Decoded(errors, frozenset(warned))

    def orientations(self, encoded: Encoded) -> NDArray[np.uint8]:
        """Read the EXIF orientation of every image, 1 where there is none. Costs a header parse per image."""
        found = np.ones(len(encoded), np.uint8)
        kinds = encoded.expected.kinds
        for position in np.flatnonzero(kinds != _native.PIXELS).tolist():
            data = encoded.bytes_of(position)
            with suppress(ImageError):  # decoding will say what is wrong with it
                is_jpeg = kinds[position] == _native.JPEG
                found[position] = jpeg.probe(data).orientation if is_jpeg else orientation_of(data)
        return found

    def close(self) -> None:
        """End the threads. Calls under way finish first."""
        if not self.is_inherited:
            self._pool.close()
            if self._pillow is not None:
                self._pillow.shutdown()

    def _find_pixels(
        self, encoded: Encoded, raw: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32] | None, dict[int, PenstockError]]:
        """Narrow the raw samples to their pixels, behind their headers."""
        expected = encoded.expected
        header_bytes, parts, errors = self._books[1 if expected.is_mask else 3].pixels(
            encoded.block,
            encoded.offsets[raw],
            encoded.lengths[raw],
            expected.sizes[raw, 0],
            expected.sizes[raw, 1],
        )
        offsets, lengths, checksums = encoded.offsets.copy(), encoded.lengths.copy(), expected.checksums
        offsets[raw] += header_bytes
        lengths[raw] -= header_bytes
        if checksums is not None:
            checksums = checksums.copy()
            checksums[raw] ^= parts
        return offsets, lengths, checksums, {int(raw[position]): error for position, error in errors.items()}

    def _by_pillow(self, job: _Job, position: int) -> PenstockError | None:
        """Decode one whole image and resample it into its slot."""
        expected, data = job.encoded.expected, job.encoded.bytes_of(position)
        size = (int(expected.sizes[position, 0]), int(expected.sizes[position, 1]))
        if expected.checksums is not None and (got := _native.crc32c(data)) != expected.checksums[position]:
            return _error(_native.CHECKSUM, f"crc32c got {got:08x}, expected {expected.checksums[position]:08x}")
        try:
            pixels = (decode_mask if expected.is_mask else decode_image)(data, max_pixels=self._max_pixels)
        except PenstockError as error:
            return error
        if pixels.shape[1::-1] != size:
            found = f"{pixels.shape[1]}x{pixels.shape[0]}"
            return _error(_native.MISMATCH, f"size got {found}, expected {size[0]}x{size[1]}")
        alone = job.only(position)
        outcomes = alone.run(
            self._inline,
            block=pixels.reshape(-1),
            offsets=np.zeros(1, np.int64),
            lengths=np.array([pixels.size], np.int64),
            kinds=np.array([_native.PIXELS], np.uint8),
            sizes=expected.sizes[position : position + 1],
            checksums=None,
            max_pixels=self._max_pixels,
        )
        if not np.may_share_memory(alone.out, job.out):
            job.slot(position)[...] = alone.out
        return _error(*outcomes[0][1:]) if outcomes else None


@final
@dataclass(frozen=True, slots=True)
class _Job:
    """One call of `decode`: what its samples have in common on every way."""

    encoded: Encoded
    geometry: Geometry
    out: NDArray[np.uint8]
    channels_first: bool
    orientations: NDArray[np.uint8] | None

    def only(self, position: int) -> _Job:
        """Give the same job for one sample."""
        part, geometry = slice(position, position + 1), self.geometry
        one = replace(geometry, regions=geometry.regions[part], clips=geometry.clips[part], flips=geometry.flips[part])
        turned = None if self.orientations is None else self.orientations[part]
        slot = self.slot(position)
        return replace(self, geometry=one, out=np.ascontiguousarray(slot), orientations=turned)

    def slot(self, position: int) -> NDArray[np.uint8]:
        """Give the place of one image, with an axis for its number."""
        if self.out.ndim == 4:
            return self.out[position : position + 1]
        clip, frame = divmod(position, self.out.shape[2])
        return self.out[clip, :, frame][None]

    def run(
        self,
        pool: _native.Pool,
        *,
        block: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int64],
        kinds: NDArray[np.uint8],
        sizes: NDArray[np.int32],
        checksums: NDArray[np.uint32] | None,
        max_pixels: int,
    ) -> list[tuple[int, int, str]]:
        """Call the native core with the samples' bytes as the arguments describe them."""
        geometry, is_mask = self.geometry, self.encoded.expected.is_mask
        return pool.decode_batch(
            block,
            offsets,
            lengths,
            kinds,
            sizes,
            geometry.regions,
            geometry.clips,
            geometry.flips,
            self.out,
            checksums=checksums,
            orientations=self.orientations,
            channels_first=self.channels_first,
            nearest=is_mask,
            fill=geometry.mask_fill if is_mask else geometry.fill,
            max_pixels=max_pixels,
        )


def _error(status: int, message: str) -> PenstockError:
    if status == _native.CHECKSUM:
        return ChecksumError(
            f"stored bytes do not match the index: {message}",
            hint="restore the file, or pack or list it again; of packed data `penstock verify` tells more",
        )
    if status == _native.MISMATCH:
        return ImageError(
            f"the image is not the one that the index describes: {message}",
            hint="pack or open the dataset again; frames of one clip must all have one size",
        )
    if status == _native.BROKEN:
        return ImageError(f"the image cannot be decoded: {message}")
    return InternalError(f"the native core reported status {status}: {message}")
