"""Sources that are lists: files, videos or folders of frames that a file names, row by row, with what it says of them.

What a list names lies below a root, by default the list's own folder. A row whose item is not there, or that has no
label where others have one, is reported; the others are the samples, in the list's order. Classes are numbered over all
rows, so they do not depend on what happens to be there.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.errors import SourceError
from penstock.ingest.duplicates import keys_of
from penstock.ingest.items import Files
from penstock.ingest.source import UNLABELLED, UNREADABLE, Skipped, Source, shown
from penstock.shard.keys import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.ingest.items import Items

__all__ = ["Rows", "below", "files_named", "root_of", "source_of"]


@dataclass(frozen=True, slots=True)
class Rows:
    """What a list says."""

    path: str  # of the list
    names: list[str]  # what keys are made of, and what reports call the rows
    labels: pa.Table  # a row each
    classes: tuple[str, ...] | None
    lacking: frozenset[int] = frozenset()  # rows without a label
    are_paths: bool = True  # False: the names are ids, in which a dot begins no suffix

    def keys(self, kept: list[int]) -> tuple[list[str], list[str]]:
        """Give the keys and the suffixes of some rows."""
        names = [self.names[row] for row in kept]
        return keys_of(names) if self.are_paths else ([key_of(name) for name in names], [""] * len(names))


def source_of(
    kind: str, field: str, rows: Rows, found: tuple[Items, list[int], list[Skipped]], *, is_made: bool = False
) -> Source:
    """Join rows with what was found of them: items, the rows' numbers, and what was not found."""
    items, kept, skipped = found
    if not kept:
        got = (
            f"none of the {len(rows.names)} rows of the list, for example {skipped[0]}" if skipped else "an empty list"
        )
        hint = "say what the names are below: --root (root=…)"
        raise SourceError("nothing that the list names is there", file=shown(rows.path), got=got, hint=hint)
    keys, _ = rows.keys(kept)
    return Source(
        kind,
        {field: items},
        keys,
        rows.labels.take(pa.array(kept, pa.int64())),
        rows.classes,
        tuple(skipped),
        made=frozenset({field} if is_made else ()),
    )


def root_of(path: str, root: str | None) -> str:
    """Give the root of a list: what was said, else its own folder."""
    return root if root is not None else os.path.dirname(path) or "."


def below(root: str, name: str, where: str, path: str) -> str:
    """Give a name that a list has, relative to the root; `where` says which of its rows it is."""
    relative = name.removeprefix("./")
    if os.path.isabs(relative):
        relative = relative.removeprefix(os.path.join(os.path.abspath(root), ""))
    if os.path.isabs(relative) or {"", ".", ".."} & set(relative.split("/")) or "\0" in relative:
        hint = "names are relative to --root (root=…); absolute ones must lie below it"
        got, expected = f"{where}: {name!r:.100}", f"a path below {shown(root)}"
        raise SourceError("a name leads out of the root", file=shown(path), got=got, expected=expected, hint=hint)
    return relative


def files_named(root: str, names: Sequence[str | None], rows: Rows) -> tuple[Files, list[int], list[Skipped]]:
    """Look files up below a root. None is a name for which no file was found."""
    chosen, kept, skipped = list[str](), list[int](), list[Skipped]()
    sizes, times = list[int](), list[int]()
    for row, name in enumerate(names):
        status = f"no such file in {shown(root)}" if name is None else _status(os.path.join(root, name))
        if row in rows.lacking:
            skipped.append(Skipped(shown(rows.names[row]), UNLABELLED, "the list has no label for it"))
        elif name is None or isinstance(status, str):
            skipped.append(Skipped(shown(rows.names[row]), UNREADABLE, str(status)))
        else:
            chosen.append(name)
            kept.append(row)
            sizes.append(status.st_size)
            times.append(status.st_mtime_ns)
    _, suffixes = rows.keys(kept)
    return Files(root, chosen, _int64(sizes), _int64(times), suffixes), kept, skipped


def _status(path: str) -> os.stat_result | str:
    """Look at a file; a text is why it is none."""
    try:
        status = os.stat(path)
    except OSError as error:
        return error.strerror or str(error)
    return status if stat.S_ISREG(status.st_mode) else "not a file"


def _int64(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)
