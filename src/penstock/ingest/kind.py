"""A kind of source: how it is recognised, listed, and if it can be, opened in place.

Each adapter beside this file gives one; `kinds.py` has them all. What a caller says besides the path are `Options`.
Each kind names those that it understands; another one is an error, never ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.ingest.recipe import Recipe
from penstock.shard.keys import escape

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from penstock.ingest.source import Source
    from penstock.storage.location import Access
    from penstock.storage.store import Store

__all__ = ["Kind", "Options", "Seen"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller says about a source."""

    labels: str | None = None  # a file of labels, or of class names
    masks: str | None = None  # a folder of masks, laid out like the images
    root: str | None = None  # what the paths in a list are below
    label_name: str | None = None  # which member or column of a list is the label
    subset: str | None = None  # which part of a list: training, validation, …
    frame_rate: float | None = None  # of videos: frames per second to keep
    recipe: Recipe = field(default_factory=Recipe)  # videos are scaled and encoded while they are read
    access: Access | None = None
    progress: Callable[[int, int], None] | None = None  # of listing what takes long: so many parts of so many

    def check(self, kind: Kind, path: str) -> None:
        """See that a kind understands what was said."""
        always = {"recipe", "access", "progress"}
        said = [one.name for one in fields(self) if one.name not in always and getattr(self, one.name) is not None]
        for name in said:
            if name not in kind.options:
                understood = ", ".join(sorted(kind.options)) or "none of them"
                what = f"a source of kind {kind.name} has no {name}"
                raise UsageError(what, file=escape(path), got=repr(getattr(self, name)), expected=understood)


@dataclass(frozen=True, slots=True)
class Seen:
    """The files of a source that can be opened in place, looked at but not read."""

    store: Store
    names: tuple[str, ...]  # relative to the store
    sizes: NDArray[np.int64]
    stamp: str  # times or tags: another one when any file has changed

    @property
    def paths(self) -> tuple[str, ...]:
        """The files' names with the store's place."""
        return tuple(f"{self.store.place}/{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of source."""

    name: str  # as `--source` says it
    what: str  # for people, in a line
    detects: Callable[[str], bool]  # whether what is at a path is plainly of this kind
    listed: Callable[[str, Options], Source]
    options: frozenset[str] = frozenset()
    seen: Callable[[str, Options], Seen] | None = None  # None: it cannot be opened in place as parts of its files
    is_of_files: bool = False  # images may be files of their own, which can be opened in place as they are
