"""Decoding: the pixels of each field of a batch, the same crop for all fields of a sample, in the dtype asked for.

Usually all images leave the decoder with one size. Then a field is one array, in memory that was used before, and one
native call fills it. Where images keep sizes of their own until a transform that is not ours makes them equal (see
transforms/plan.py), a field is a list of arrays, one per sample.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from penstock.decode.batch import BatchDecoder
from penstock.decode.each import EachDecoder
from penstock.decode.headers import read_headers
from penstock.decode.layout import channel_axis, decode_into

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from penstock.decode.batch import Decoded, Encoded
    from penstock.decode.layout import Layout
    from penstock.errors import PenstockError
    from penstock.pipeline.memory import BatchMemory
    from penstock.planning import Planned, Planner
    from penstock.selection import Selection
    from penstock.transforms.normalize import Values
    from penstock.types import Geometry

__all__ = ["FieldDecoder"]

Pixels: TypeAlias = "NDArray[Any] | list[NDArray[Any]]"


@final
class FieldDecoder:
    """Decodes batches in `threads` threads, into `memory`. May be called from several threads."""

    def __init__(
        self,
        selection: Selection,
        planner: Planner,
        memory: BatchMemory,
        *,
        values: Values,
        dtypes: Mapping[str, np.dtype[Any]],
        threads: int,
        max_pixels: int,
        layouts: Mapping[str, Layout],
        orients: bool,
    ) -> None:
        self._selection, self._planner, self._memory = selection, planner, memory
        self._values, self._dtypes = values, dtypes
        self._layouts, self._orients, self.threads = layouts, orients, threads
        kind = EachDecoder if planner.size is None else BatchDecoder
        self._decoder: BatchDecoder | EachDecoder = kind(threads, max_pixels=max_pixels)

    def decode(
        self, planned: Planned, encoded: Mapping[str, Encoded], errors: dict[int, PenstockError]
    ) -> tuple[dict[str, Pixels], int]:
        """Decode every field, and count warnings. Adds to `errors`, whose samples, by position, have no pixels."""
        decoder, planner, epoch = self._decoder, self._planner, planned.epoch
        encoded, found = self._known(planned, encoded, errors)
        orientations = decoder.orientations(encoded[self._selection.leader]) if self._orients else None
        decode: Callable[..., tuple[Pixels, Decoded]]
        if isinstance(decoder, EachDecoder):
            decode = partial(self._one_by_one, decoder, planner.geometries(planned.wanted, epoch, orientations, found))
        else:
            geometry = planned.geometry
            if geometry is None:
                geometry = planner.geometry(planned.wanted, epoch, orientations, found)
            decode = partial(self._into_one_array, decoder, geometry)
        pixels: dict[str, Pixels] = {}
        warned = 0
        for name, one in encoded.items():
            pixels[name], decoded = decode(
                name, one, layout=self._layouts[name], orientations=orientations, leave_out=errors
            )
            for at, error in decoded.errors.items():
                errors[at] = self._located(planned, at, name, error)
            warned += len(decoded.warned)
        return pixels, warned

    def _known(
        self, planned: Planned, encoded: Mapping[str, Encoded], errors: dict[int, PenstockError]
    ) -> tuple[Mapping[str, Encoded], NDArray[np.int32] | None]:
        """Read headers that the index does not know; the sizes that crops are drawn for, None where it knows them."""
        leader, found = self._selection.leader, None
        for name, one in encoded.items():
            if one.expected.is_unread:
                read, sizes, failed = read_headers(one, leave_out=errors)
                encoded = {**encoded, name: read}
                for at, error in failed.items():
                    errors[at] = self._located(planned, at, name, error)
                found = sizes if name == leader else found
        return encoded, found

    def _located(self, planned: Planned, at: int, name: str, error: PenstockError) -> PenstockError:
        """Say in an error which sample, frame and bytes it is about. Decoding counts the frames that are shown."""
        chosen = planned.wanted.chosen.get(name)
        frame = None if chosen is None else int(chosen[at, error.frame or 0])
        return self._selection.located(error, int(planned.ids[at]), name, frame)

    def _into_one_array(
        self, decoder: BatchDecoder, geometry: Geometry, name: str, encoded: Encoded, **options: Any
    ) -> tuple[Pixels, Decoded]:
        out = self._memory.pixels(name, len(encoded))
        return out, decode_into(decoder, encoded, geometry, out, **options)

    def _one_by_one(
        self, decoder: EachDecoder, geometries: list[Geometry], _: str, encoded: Encoded, **options: Any
    ) -> tuple[Pixels, Decoded]:
        return decoder.decode(encoded, geometries, **options)

    def valued(self, name: str, pixels: Pixels) -> Pixels:
        """Apply dtype and normalisation, if any."""
        if self._dtypes[name] == np.uint8:
            return pixels
        if isinstance(pixels, list):
            return [self._applied(name, one, np.empty(one.shape, self._dtypes[name])) for one in pixels]
        return self._applied(name, pixels, self._memory.values(name, len(pixels)))

    def _applied(self, name: str, pixels: NDArray[np.uint8], out: NDArray[Any]) -> NDArray[Any]:
        if name in self._selection.masks:
            np.copyto(out, pixels)
        else:
            self._values.apply(pixels, out, channel_axis=channel_axis(self._layouts[name]))
        return out

    def close(self) -> None:
        """End the threads."""
        self._decoder.close()
