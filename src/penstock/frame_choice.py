"""The choice of frames: which of its clips' frames a sample shows, as a function of (seed, epoch, sample).

It is known before anything is read, so readers ask for nothing else. Batches look it up for thousands of samples at a
time, windows for theirs when they open: the same draws by the same names, hence the same frames.

Without `ClipSample` a clip is shown whole. That is one shape for all only where all have as many frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from penstock.errors import UsageError
from penstock.order import Draws
from penstock.pieces import frame_counts, most_bytes, usual_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from penstock.pieces import Chosen
    from penstock.transforms import ClipSample
    from penstock.types import Column

__all__ = ["FrameChoice"]


@final
class FrameChoice:
    """Chooses the frames of some fields' clips; fields that hold none it leaves alone."""

    def __init__(self, columns: Mapping[str, Column], sampling: ClipSample | None, *, seed: int) -> None:
        self._clips = {name: column for name, column in columns.items() if column.frames is not None}
        self._columns, self._sampling, self._seed = columns, sampling, seed
        if sampling is not None and not self._clips:
            raise UsageError(
                "ClipSample chooses among the frames of clips, and none of the fields holds clips",
                got=list(columns),
                hint="leave ClipSample out",
            )
        self._counts = {name: frame_counts(column) for name, column in self._clips.items()}
        self.frames = {name: self._shown(name) for name in self._clips}  # of each sample, by field

    def _shown(self, name: str) -> int:
        if self._sampling is not None:
            return self._sampling.frames
        counts = self._counts[name]
        least, most = (int(counts.min()), int(counts.max())) if len(counts) else (1, 1)
        if least != most:
            raise UsageError(
                f"the clips of {name} differ in how many frames they have",
                got=f"{least} to {most}",
                expected="one number",
                hint="put ClipSample(frames=18, stride=2) first among the transforms: it chooses as many of each",
            )
        return most

    def of(self, ids: NDArray[np.int64], names: NDArray[np.int64], epoch: int) -> Chosen:
        """Choose for some samples; `names` are what their draws are named after."""
        if not self._clips:
            return {}
        draws = None if self._sampling is None else Draws.of(self._seed, epoch, names)
        return {name: self._first(name)[ids][:, None] + self._numbers(name, ids, draws) for name in self._clips}

    def _first(self, name: str) -> NDArray[np.int64]:
        frames = self._clips[name].frames
        assert frames is not None
        return frames.first

    def _numbers(self, name: str, ids: NDArray[np.int64], draws: Draws | None) -> NDArray[np.int64]:
        if self._sampling is None or draws is None:
            return np.arange(self.frames[name])[None]
        return self._sampling.choose(self._counts[name][ids], draws)

    def usual_bytes(self) -> dict[str, NDArray[np.int64]]:
        """Expect so much to be read of every sample, by field."""
        stride = 1 if self._sampling is None else self._sampling.stride
        return self._columns_lengths() | {
            name: usual_bytes(column, self.frames[name], stride) for name, column in self._clips.items()
        }

    def most_bytes(self) -> dict[str, NDArray[np.int64]]:
        """Bound what is read of every sample, by field."""
        return self._columns_lengths() | {
            name: most_bytes(column, self.frames[name]) for name, column in self._clips.items()
        }

    def _columns_lengths(self) -> dict[str, NDArray[np.int64]]:
        return {name: column.length for name, column in self._columns.items() if name not in self._clips}
