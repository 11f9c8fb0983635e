"""A journal of finished pieces of work, so that a killed writer can go on where it stopped.

The journal knows nothing of what it keeps. It is a folder with a `plan` (bytes that say what the work is), a mark,
and pieces numbered from 0, each written atomically. A piece is what its writer says about itself; whoever writes one
must first have made lasting whatever the piece speaks of.

    plan           equal plans mean the same work: pieces may be kept. Another plan: the caller must decide
                   (see `Journal.plan`)
    000000, …      the pieces
    000000.tar, …  room for what a piece will speak of, while it grows
    000000.*.tar   the same, where several processes may grow it one after another: each has a name of its own
    *.partial      one of them, being written
    lock           there from before the first change until after the last: what lies beside it is unfinished work.
                   A local folder is held with flock on it while a writer is alive

The folder lies inside the place that is being written. Nothing but files of these names is ever removed, and a folder
that holds anything else is not a journal: somebody's photographs may be called `packing` too.

A place that cannot be held (an object store) may have several writers. Those with the same plan write the same bytes,
so they do no harm; of those with different plans the journal belongs to the one whose plan is there. So the plan is
looked at again before each piece, and whoever finds another one than its own stops.

One process holds the journal and writes the pieces. What they speak of others may make for it, on other machines:
`Begun` is all that those know of the journal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from penstock.errors import UsageError

if TYPE_CHECKING:
    from types import TracebackType

    from penstock.storage.place import Growing, Place

__all__ = ["JOURNAL_NAME", "Begun", "Journal", "foreign_names", "is_unfinished", "plan_in"]

JOURNAL_NAME = "packing"
_PLAN = f"{JOURNAL_NAME}/plan"
_OWN_NAME = re.compile(r"lock|plan(\.partial)?|\d{6,}(\.partial|(\.[0-9a-f]+)?\.tar)?")


def is_unfinished(place: Place) -> bool:
    """Whether a place holds a journal, so that what lies beside it is unfinished work.

    An empty journal, as a kill right after its making leaves it, counts only where nothing lies beside it.
    """
    names = place.files(JOURNAL_NAME)
    if names is None:
        return False
    return not foreign_names(place) if names else list(place.files("") or ()) == [f"{JOURNAL_NAME}/"]


def foreign_names(place: Place) -> list[str]:
    """Name what no journal wrote where the place's journal is or would be."""
    return sorted(name for name in place.files(JOURNAL_NAME) or () if not _OWN_NAME.fullmatch(name))


def plan_in(place: Place) -> bytes | None:
    """Say what work a place's journal is of; None where none was begun."""
    return place.read(_PLAN)


@final
@dataclass(frozen=True, slots=True)
class Begun:
    """Work that was begun in a place, for any process that does a part of it."""

    place: Place
    plan: bytes

    @property
    def path(self) -> str:
        """Where its journal is, fit for printing."""
        return f"{self.place.store.place}/{JOURNAL_NAME}"

    def check(self) -> None:
        """See that this is still the work that goes on there."""
        if plan_in(self.place) != self.plan:
            what = "another process has begun to pack something else into this place, or has finished"
            hint = "see that only one packs into it, then run the command again; --force (force=True) starts over"
            raise UsageError(what, file=self.path, hint=hint)

    def grow(self, name: str, attempt: str = "") -> Growing:
        """Begin a file that a piece will speak of; while it grows it may lie in the journal, under a name of its own.

        `attempt` tells processes apart that may make the same file: hexadecimal digits.
        """
        stem, _, suffix = name.rpartition("/")[2].partition(".")
        own = f"{stem}.{attempt}.{suffix}" if attempt else f"{stem}.{suffix}"
        return self.place.grow(name, f"{JOURNAL_NAME}/{own}")


@final
class Journal:
    """The journal in a place, held for this process until closed."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._begun: Begun | None = None  # whose work this is
        self._hold = place.hold(JOURNAL_NAME)

    @property
    def path(self) -> str:
        """Where it is, fit for printing."""
        return f"{self._place.store.place}/{JOURNAL_NAME}"

    @property
    def begun(self) -> Begun:
        """The work that was begun or taken up."""
        assert self._begun is not None
        return self._begun

    @property
    def plan(self) -> bytes | None:
        """What the journal's work is; None where none was begun."""
        return plan_in(self._place)

    def begin(self, plan: bytes) -> None:
        """Start new work: forget the pieces of any other."""
        self._place.remove([_PLAN])  # first: pieces without a plan belong to nothing
        self._place.remove([f"{JOURNAL_NAME}/{name}" for name in self._own_names() if name != "lock"])
        self._place.create(_PLAN, plan)
        self.take(plan)

    def take(self, plan: bytes) -> None:
        """Take up work that was begun: it must be this. What was growing when it stopped grows anew."""
        self._begun = Begun(self._place, plan)
        self.check()
        growing = [name for name in self._own_names() if name.endswith(".tar")]
        if growing:
            self._place.remove([f"{JOURNAL_NAME}/{name}" for name in growing])

    def check(self) -> None:
        """See that this is still the work that was begun or taken up."""
        self.begun.check()

    def pieces(self) -> list[bytes]:
        """All pieces from the first up to the first that is missing."""
        found: list[bytes] = []
        while (piece := self._place.read(_piece(len(found)))) is not None:
            found.append(piece)
        return found

    def add(self, number: int, piece: bytes) -> None:
        """Write piece `number`; it is lasting when this returns."""
        self.check()
        self._place.write(_piece(number), piece)

    def remove(self) -> None:
        """Forget everything: the work is done and has been made lasting elsewhere.

        The plan goes last, so that until then whoever finds the rest can tell what it belonged to.
        """
        names = sorted(self._own_names(), key=lambda name: name == "plan")
        self._place.remove([f"{JOURNAL_NAME}/{name}" for name in names])
        self._place.remove_folder(JOURNAL_NAME)

    def close(self) -> None:
        """Let go of the place."""
        self._hold.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _own_names(self) -> list[str]:
        return [name for name in self._place.files(JOURNAL_NAME) or () if _OWN_NAME.fullmatch(name)]


def _piece(number: int) -> str:
    return f"{JOURNAL_NAME}/{number:06d}"
