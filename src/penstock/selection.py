"""Which fields of a dataset a batch has: columns of images, masks and clips, labels, and that they go together.

All binary fields of a sample share one crop, so they must have one size. The first field that is no mask leads: crops
are drawn for its size. A field whose name ends in "mask" is one. Clips go together with clips alone: which of its
frames an image or a mask would belong to, nothing says.

In a folder opened in place there may be files whose header could not be read: their format is "unknown" and their size
means nothing. Crops must not fail on it, so that the sample alone has an error, the one that decoding it gives. Such
samples get the size of a neighbour, which never comes to matter.

Of loose objects the index knows no size before they are read. Here they get one that is guessed from their bytes: three
pixels for each, more than photographs have. It serves to plan memory where images keep sizes of their own; crops wait
for the true one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import pyarrow as pa

from penstock.errors import FormatError, PenstockError, UsageError
from penstock.pieces import byte_range, frame_counts, frame_number
from penstock.types import UNREAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.dataset import Dataset
    from penstock.types import Column

__all__ = ["Selection", "chosen"]

PIXELS_PER_BYTE = 3


@final
@dataclass(frozen=True, slots=True)
class Selection:
    """Some fields of a dataset."""

    dataset: Dataset
    names: tuple[str, ...]
    columns: dict[str, Column]
    masks: frozenset[str]
    clips: frozenset[str]
    leader: str  # the field that crops are drawn for
    widths: NDArray[np.int32]  # the leader's, as crops shall take them
    heights: NDArray[np.int32]
    _labels: dict[str, NDArray[Any] | pa.ChunkedArray]

    @classmethod
    def of(cls, dataset: Dataset, fields: Sequence[str] | None) -> Selection:
        """Choose the fields of a batch (None: all), and see that they go together."""
        known = (*dataset.fields, *dataset.label_names)
        if isinstance(fields, str):
            raise UsageError("fields are a list of names", got=repr(fields), hint=f"pass fields=[{fields!r}]")
        names = tuple(known if fields is None else fields)
        if unknown := [name for name in names if name not in known]:
            raise UsageError("the dataset has no such field", got=unknown, expected=f"some of {list(known)}")
        columns = {name: dataset.column(name) for name in names if name in dataset.fields}
        labels = {name: dataset.labels(name) for name in names if name in dataset.label_names}
        if not columns:
            raise UsageError("a batch has at least one image field or clip", got=list(names), expected=dataset.fields)
        clips = frozenset(name for name, column in columns.items() if column.frames is not None)
        if clips and len(clips) < len(columns):
            hint = f"choose, such as fields={[name for name in names if name in clips or name in labels]}"
            raise UsageError("clips and images cannot be in one batch", got=list(columns), hint=hint)
        masks = frozenset(name for name in columns if name.endswith("mask"))
        leader = next((name for name in columns if name not in masks), next(iter(columns)))
        selection = cls(dataset, names, columns, masks, clips, leader, *_sizes(columns[leader]), labels)
        selection._check_sizes()
        return selection

    def _check_sizes(self) -> None:
        """See that one crop can serve all fields of a sample."""
        first = self.columns[self.leader]
        for name, column in self.columns.items():
            other = np.flatnonzero((column.width != first.width) | (column.height != first.height))
            if other.size:
                at = int(other[0])
                raise FormatError(
                    f"{name} and {self.leader} differ in size, so no crop can serve both ({other.size} samples)",
                    sample=self.dataset.key(at),
                    got=f"{column.width[at]}x{column.height[at]}",
                    expected=f"{first.width[at]}x{first.height[at]}",
                )

    @property
    def kinds(self) -> dict[str, Literal["image", "mask", "clip"]]:
        """The binary fields, and what they are."""
        return {
            name: "clip" if name in self.clips else "mask" if name in self.masks else "image" for name in self.columns
        }

    @property
    def is_unread(self) -> bool:
        """Whether there may be images whose sizes are not known before they are read."""
        return UNREAD in self.columns[self.leader].formats

    @property
    def is_pair(self) -> bool:
        """Whether it is one image or clip field and one label: the usual thing, which needs no names."""
        return len(self.columns) == len(self._labels) == 1 and not self.masks

    def sizes(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Give width and height of some samples."""
        return self.widths[ids], self.heights[ids]

    def labels(self, ids: NDArray[np.int64]) -> dict[str, NDArray[Any] | list[Any]]:
        """Give the labels of some samples: numbers as arrays, anything else as lists."""
        return {
            name: values[ids] if isinstance(values, np.ndarray) else values.take(pa.array(ids)).to_pylist()
            for name, values in self._labels.items()
        }

    def numbers(self, ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """See that these are numbers of samples, one row of them."""
        given, count = np.asarray(ids), len(self.dataset)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            got = f"{given.dtype} of shape {list(given.shape)}"
            raise UsageError("sample numbers form one row of whole numbers", got=got)
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < count:
            raise UsageError("no such sample", got=f"{given.min()} to {given.max()}", expected=f"0 to {count - 1}")
        return given.astype(np.int64, copy=False)

    def located(self, error: PenstockError, number: int, name: str, frame: int | None = None) -> PenstockError:
        """Say in an error which sample and which bytes it is about; or which frame, known by its position."""
        column = self.columns[name]
        error.sample, error.frame = self.dataset.key(number), frame_number(column, number, frame)
        error.byte_range = byte_range(column, number, frame)
        return error

    def named(self, error: PenstockError, ids: NDArray[np.int64]) -> PenstockError:
        """Say in an error about one of these samples, known by its position among them, which sample that is."""
        if isinstance(error.sample, int):
            number = int(ids[error.sample])
            self.filed(self.located(error, number, self.leader), number)
        return error

    def filed(self, error: PenstockError, number: int) -> PenstockError:
        """Say in an error which file it is about. Looked up only for one that is raised."""
        self.file_all([(number, error)])
        return error

    def file_all(self, errors: Sequence[tuple[int, PenstockError]]) -> None:
        """Say in errors about these samples which files they are about: one look into the index for all of them."""
        open_ones = [(number, error) for number, error in errors if error.file is None]
        if open_ones:
            files = self.dataset.select([number for number, _ in open_ones]).index.column("file").to_pylist()
            for (_, error), file in zip(open_ones, files, strict=True):
                error.file = str(file)


def chosen(labels: NDArray[Any] | list[Any], kept: NDArray[np.intp]) -> NDArray[Any] | list[Any]:
    """Give some of a batch's labels, by position."""
    return labels[kept] if isinstance(labels, np.ndarray) else [labels[at] for at in kept.tolist()]


def _sizes(column: Column) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Give widths and heights, guessed where they are unread, and those of another sample where nobody knows them."""
    widths, heights = column.width, column.height
    if UNREAD in column.formats:
        unread = column.format == column.formats.index(UNREAD)
        length = column.length if column.frames is None else column.length // frame_counts(column)
        side = np.ceil(np.sqrt(PIXELS_PER_BYTE * length + 1)).astype(np.int32)
        widths, heights = np.where(unread, side, widths), np.where(unread, side, heights)
    if "unknown" in column.formats:
        unknown = column.format == column.formats.index("unknown")
        known = np.flatnonzero(~unknown)
        if known.size:
            at = known[0]
            widths, heights = np.where(unknown, widths[at], widths), np.where(unknown, heights[at], heights)
    return widths, heights
