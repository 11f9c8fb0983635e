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
from penstock.shard.checks import crc32c

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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

    def plan_reading(self, ids: NDArray[np.int64], fields: Sequence[str]) -> Reading:
        """Plan to read some fields of some samples."""

    def read_error(self, number: int, field: str, failure: Failure) -> PenstockError:
        """Say what is wrong with a sample that did not arrive."""


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """A plan to read some fields of some samples: of which files what, and where in the block it will be."""

    ids: NDArray[np.int64]
    fields: tuple[str, ...]
    reads: ReadPlan  # of files by the index's numbers
    starts: NDArray[np.int64]  # [fields, samples] in the block
    lengths: NDArray[np.int64]  # [fields, samples]


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
                field, sample = divmod(position, len(reading.ids))
                found[sample] = self._dataset.read_error(int(reading.ids[sample]), reading.fields[field], failure)
        return found

    def _mend(self, errors: dict[int, PenstockError]) -> None:
        """Ask again for what came over a network and does not match its checksum. What stays wrong is stored wrong."""
        reading, dataset = self._reading, self._dataset
        for _ in range(MENDED):
            wrong = [at for at in range(len(reading.ids)) if at not in errors and not self._is_right(at)]
            if not wrong:
                return
            again = dataset.plan_reading(reading.ids[wrong], reading.fields)
            dataset.stored.forget(again.reads)
            room = np.empty(again.reads.block_bytes, np.uint8)
            filling = Filling(dataset, again, room)
            self._arrival = filling._arrival
            failed = filling._failed()
            for position, sample in enumerate(wrong):
                for field in range(len(reading.fields)) if position not in failed else ():
                    size, start = int(again.lengths[field, position]), int(again.starts[field, position])
                    into = int(reading.starts[field, sample])
                    self._block[into : into + size] = room[start : start + size]

    def _is_right(self, sample: int) -> bool:
        """Whether a sample's bytes match their checksums, as far as it has any."""
        reading = self._reading
        for field, name in enumerate(reading.fields):
            checksums, start = self._dataset.column(name).crc32c, int(reading.starts[field, sample])
            data = self._block[start : start + int(reading.lengths[field, sample])].data
            if checksums is not None and crc32c(data) != checksums[reading.ids[sample]]:
                return False
        return True

    def cancel(self) -> None:
        """Say that nobody wants the samples any more."""
        self._arrival.cancel()
