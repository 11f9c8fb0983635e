"""The lists of 20BN datasets: `id;label` per line, no header; `id` alone in a list for testing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import SourceError
from penstock.ingest.source import shown
from penstock.storage.local import read_file, storage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["classes_of", "read_list"]


def read_list(path: str) -> tuple[list[str], list[str] | None]:
    """Read ids and labels; no labels where no line has one."""
    rows = [(number, line.split(";")) for number, line in enumerate(_lines(path), 1) if line.strip()]
    if not rows:
        raise SourceError("the list is empty", file=shown(path), expected="a line `id;label` per clip")
    width = len(rows[0][1])
    for number, row in rows:
        if len(row) != width or width > 2 or not row[0].strip() or row[0].strip() in {".", ".."} or "/" in row[0]:
            got = f"line {number}: {';'.join(row)!r:.100}"
            raise SourceError("a line is not `id;label`", file=shown(path), got=got, expected="an id, or id;label")
    ids = [row[0].strip() for _, row in rows]
    return ids, [row[1].strip() for _, row in rows] if width == 2 else None


def classes_of(
    labels: Sequence[str] | None, names: str | None, path: str
) -> tuple[NDArray[np.int64] | None, tuple[str, ...] | None]:
    """Give labels as numbers: in the order of a file of names, one per line, or sorted."""
    if labels is None:
        return None, None
    known = sorted(set(labels)) if names is None else [line.strip() for line in _lines(names) if line.strip()]
    number = {name: position for position, name in enumerate(known)}
    if len(number) < len(known):
        twice = next(name for position, name in enumerate(known) if number[name] != position)
        raise SourceError("a class is named twice", file=shown(str(names)), got=repr(twice))
    unknown = sorted(set(labels) - number.keys())
    if unknown:
        got = f"{len(unknown)} others, such as {unknown[0]!r}"
        expected = f"one of the {len(known)} in {shown(str(names))}"
        raise SourceError("labels that are no class", file=shown(path), got=got, expected=expected)
    return np.array([number[label] for label in labels], np.int64), tuple(known)


def _lines(path: str) -> list[str]:
    try:
        return read_file(path).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise storage_error(error, path) from error
    except UnicodeDecodeError as error:
        raise SourceError("the file is not text in UTF-8", file=shown(path), got=str(error)) from error
