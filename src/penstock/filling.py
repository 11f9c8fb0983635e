"""Filling: a plan to read some fields of some samples, and what became of it, sample by sample.

Reads bring bytes of many samples, and fail as reads do; here that is said of the samples. What came over a network is
also compared with its checksums at once, because it can be asked for again; what comes from a disk is compared where it
is decoded, while it is in the processor's cache anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from penstock.errors import PenstockError
from penstock.pieces import checksums
from penstock.shard.checks import crc32c

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.pieces import Chosen
    from penstock.storage.files import Files
    from penstock.storage.ranges import ReadPlan
    from penstock.storage.store import Failure
    from penstock.types import Column

__all__ = ["Filling", "Reading"]

MENDED = 2  # so often bytes that came damaged are asked for again


class Samples(Protocol):
    """What a filling needs to know of its dataset."""

    @property
    def stored(self) -> Files:
        """The files, by their numbers."""

    def column(self, field: str) -> Column:
        """Where every sample's bytes of one field are."""

    def plan_reading(self, ids: NDArray[np.int64], fields: Sequence[str], chosen: Chosen) -> Reading:
        """Plan to read some fields of some samples."""

    def read_error(self, number: int, field: str, failure: Failure, frame: int | None) -> PenstockError:
        """Say what is wrong with a sample that did not arrive."""


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """A plan to read some fields of some samples: of which files what, and where in the block it will be."""

    ids: NDArray[np.int64]
    fields: tuple[str, ...]
    chosen: Chosen  # the frames of clips
    reads: ReadPlan  # of files by the index's numbers
    starts: NDArray[np.int64]  # [pieces, samples] in the block; the fields' pieces one after another
    lengths: NDArray[np.int64]  # [pieces, samples]

    def piece(self, row: int, sample: int) -> tuple[str, int | None]:
        """Say which field a row's piece is of, and which frame, by its position; None: all of it."""
        for name in self.fields:
            frames = self.chosen.get(name)
            count = 1 if frames is None else frames.shape[1]
            if row < count:
                return name, None if frames is None else int(frames[sample, row])
            row -= count
        raise IndexError(row)


@final
class Filling:
    """A plan that is being carried out: samples on their way into a block."""

    def __init__(
        self,
        dataset: Samples,
        reading: Reading,
        block: NDArray[np.uint8],
        *,
        ways: NDArray[np.uint8] | None = None,
    ) -> None:
        self._dataset, self._reading, self._block = dataset, reading, block
        self._arrival = dataset.stored.begin(reading.reads, block, ways=ways)
        self._errors: dict[int, PenstockError] | None = None

    def errors(self) -> dict[int, PenstockError]:
        """Wait for the samples; the errors of those that did not arrive, by position among those asked for."""
        if self._errors is None:
            errors = self._failed()
            if not self._dataset.stored.is_local:
                self._mend(errors)
            self._errors = errors
        return self._errors

    def _failed(self) -> dict[int, PenstockError]:
        """Wait for the bytes."""
        reading, found = self._reading, dict[int, PenstockError]()
        for failure in self._arrival.failures():
            of_read = reading.reads.read == failure.read
            ends = reading.reads.start + reading.lengths.reshape(-1) - reading.reads.position[failure.read]
            for position in np.flatnonzero(of_read & (ends > failure.arrived)).tolist():
                row, sample = divmod(position, len(reading.ids))
                field, frame = reading.piece(row, sample)
                found[sample] = self._dataset.read_error(int(reading.ids[sample]), field, failure, frame)
        return found

    def _mend(self, errors: dict[int, PenstockError]) -> None:
        """Ask again for what came over a network and does not match its checksum. What stays wrong is stored wrong."""
        reading, dataset = self._reading, self._dataset
        for _ in range(MENDED):
            wrong = [at for at in range(len(reading.ids)) if at not in errors and not self._is_right(at)]
            if not wrong:
                return
            chosen = {name: frames[wrong] for name, frames in reading.chosen.items()}
            again = dataset.plan_reading(reading.ids[wrong], reading.fields, chosen)
            dataset.stored.forget(again.reads)
            room = np.empty(again.reads.block_bytes, np.uint8)
            filling = Filling(dataset, again, room)
            self._arrival = filling._arrival
            failed = filling._failed()
            for position, sample in enumerate(wrong):
                for row in range(len(reading.starts)) if position not in failed else ():
                    size, start = int(again.lengths[row, position]), int(again.starts[row, position])
                    into = int(reading.starts[row, sample])
                    self._block[into : into + size] = room[start : start + size]

    def _is_right(self, sample: int) -> bool:
        """Whether a sample's bytes match their checksums, as far as it has any."""
        reading, row = self._reading, 0
        for name in reading.fields:
            chosen = reading.chosen.get(name)
            one = None if chosen is None else chosen[sample : sample + 1]
            expected = checksums(self._dataset.column(name), reading.ids[sample : sample + 1], one)
            for piece in range(1 if chosen is None else chosen.shape[1]):
                start, length = int(reading.starts[row, sample]), int(reading.lengths[row, sample])
                if expected is not None and crc32c(self._block[start : start + length].data) != expected[piece, 0]:
                    return False
                row += 1
        return True

    def cancel(self) -> None:
        """Say that nobody wants the samples any more."""
        self._arrival.cancel()
