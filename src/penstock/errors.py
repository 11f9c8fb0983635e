"""The errors of penstock, sorted by who must act.

    PenstockError
    ├── UsageError (ValueError)          the caller asked for something that cannot be: change the call
    ├── DataError                        bytes are not what they should be: mend or leave out the data
    │   ├── ImageError                   an encoded image cannot be decoded
    │   ├── ChecksumError                stored bytes do not match the checksum in the index
    │   ├── FormatError                  a manifest, index or shard breaks the dataset format
    │   └── SourceError                  an item handed to packing cannot be packed
    ├── StorageError (OSError)           the medium failed: a disk, a mount, a permission
    ├── StalledError (TimeoutError)      a wait passed its deadline: says who waited for whom
    └── InternalError                    a bug of ours: please report it

Every error says what went wrong and, where it applies, where (file, sample, frame of a clip, byte range), what was
found, what was expected, and what to do next. They survive pickling whole, so a worker process can hand them over.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ChecksumError",
    "DataError",
    "FormatError",
    "ImageError",
    "InternalError",
    "PenstockError",
    "SourceError",
    "StalledError",
    "StorageError",
    "UsageError",
]


class PenstockError(Exception):
    """Any error that penstock raises on purpose."""

    def __init__(
        self,
        what: str,
        *,
        file: str | None = None,
        sample: str | int | None = None,
        frame: int | None = None,
        byte_range: tuple[int, int] | None = None,
        got: object = None,
        expected: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.file = file
        self.sample = sample
        self.frame = frame
        self.byte_range = byte_range
        self.got = got
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        text = self.what
        if self.got is not None or self.expected is not None:
            parts = [
                f"{name} {value}"
                for name, value in (("got", self.got), ("expected", self.expected))
                if value is not None
            ]
            text += ": " + ", ".join(parts)
        where = []
        if self.sample is not None:
            where.append(f"sample {self.sample}")
        if self.frame is not None:
            where.append(f"frame {self.frame}")
        if self.file is not None:
            where.append(f"file {self.file}")
        if self.byte_range is not None:
            where.append(f"bytes {self.byte_range[0]}-{self.byte_range[1]}")
        if where:
            text += f" ({', '.join(where)})"
        if self.hint:
            text += f"\n\nhint: {self.hint}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.what, {k: v for k, v in self.__dict__.items() if k != "what"})


def _rebuild(kind: type[PenstockError], what: str, state: dict[str, Any]) -> PenstockError:
    error = kind(what)
    for name, value in state.items():
        setattr(error, name, value)
    return error


class UsageError(PenstockError, ValueError):
    """The caller asked for something that cannot be."""


class DataError(PenstockError):
    """Bytes are not what they should be."""


class ImageError(DataError):
    """An encoded image cannot be decoded."""


class ChecksumError(DataError):
    """Stored bytes do not match the checksum in the index."""


class FormatError(DataError):
    """A manifest, index or shard breaks the dataset format."""


class SourceError(DataError):
    """An item handed to packing cannot be packed."""


class StorageError(PenstockError, OSError):
    """The medium failed."""

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild, (kind, what, state) = super().__reduce__()
        return rebuild, (kind, what, {**state, "errno": self.errno})


class StalledError(PenstockError, TimeoutError):
    """A wait passed its deadline."""


class InternalError(PenstockError):
    """A bug of ours."""
