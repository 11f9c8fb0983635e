"""Getting a place ready to be packed into, and holding it.

A place may be empty, hold unfinished work with the same plan, which is gone on with, or anything else, which is in the
way: only what a pack wrote is ever removed, and only on request. The journal (storage/journal.py) says what was begun.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, UsageError
from penstock.ingest.source import shown
from penstock.shard.manifest import INDEX_FILE, MANIFEST_NAME
from penstock.storage.journal import JOURNAL_NAME, Journal, foreign_names, is_unfinished
from penstock.storage.local import storage_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.shard.manifest import Manifest
    from penstock.storage.place import Place

__all__ = ["SHARDS", "claim", "claim_extension", "encode_plan", "extends", "is_published"]

SHARDS = "shards"
_SHARD_NAME = re.compile(r"\d{6,}\.tar")


def claim(place: Place, plan: bytes, *, force: bool) -> Journal:
    """Get a place ready to be written into, and hold it.

    It may be new, or unfinished with the same plan, which is then gone on with; `force` starts over from anything else
    that a pack wrote. Where a manifest is there afterwards, only the journal's removal is left to do.
    """
    where = shown(place.store.place)
    with _told(place):
        is_whole, is_begun = is_published(place), is_unfinished(place)
        if not is_whole and not is_begun and not place.is_empty():
            hint = "choose another destination"
            raise UsageError("the destination is neither a dataset nor empty", file=where, hint=hint)
        if is_whole and not is_begun and not force:
            raise _exists(where)
        journal = _held(place)
        with _closed_on_error(journal):
            place.make_folder(SHARDS)
            is_whole, begun = is_published(place), journal.plan  # what they are now that the place is held
            if force and (is_whole or begun != plan):
                _start_over(place, journal, plan)
            elif begun is None and is_whole:  # killed at the very last step
                journal.remove()
                raise _exists(where)
            elif begun is None:  # new, or killed while starting over: a part of what was there before may be left
                _start_over(place, journal, plan)
            elif begun != plan:
                raise _another(where)
            else:
                journal.take(plan)
    return journal


def claim_extension(place: Place, extended: Manifest, plan: bytes, finished: bytes | None, *, force: bool) -> Journal:
    """Get a dataset ready to be extended, and hold it.

    `extended` is its manifest, `plan` says what is to be added to it; `finished` is the journal's plan where that has
    happened and only the journal's removal is left to do: it is then taken up. `force` starts over from another
    extension that was not finished. What the manifest names is never touched.
    """
    where = shown(place.store.place)
    with _told(place):
        journal = _held(place)
        with _closed_on_error(journal):
            begun = journal.plan
            if begun is not None and begun in {plan, finished}:
                journal.take(begun)
                return journal
            is_extension = begun is not None and extends(begun) is not None
            if is_extension and not force:
                raise _another(where)
            strays = sorted(set(_shards(place)) - {shard.file for shard in extended.shards})
            if strays and not is_extension:
                journal.remove()
                what, hint = (
                    "a shard that the manifest does not name is in the way",
                    "see what it is; `penstock verify`",
                )
                raise UsageError(what, file=f"{where}/{strays[0]}", hint=hint)
            if hashlib.sha256(place.read(MANIFEST_NAME) or b"").hexdigest() != extends(plan):
                raise UsageError("another process has extended this dataset meanwhile", file=where, hint="try again")
            place.remove(strays)
            journal.begin(plan)  # of a pack that was published nothing but its journal was left
    return journal


def encode_plan(work: dict[str, Any], extended: str | None = None) -> bytes:
    """Write down what the work is: on a dataset of its own, or to extend the one whose manifest has this digest."""
    return json.dumps(work if extended is None else {**work, "extends": extended}).encode()


def extends(plan: bytes) -> str | None:
    """Say which manifest a plan is to extend, by its digest; None where it is to make a dataset of its own."""
    found = json.loads(plan).get("extends")
    return None if found is None else str(found)


@contextmanager
def _told(place: Place) -> Iterator[None]:
    """Tell of a medium that fails as every other place does."""
    try:
        yield
    except OSError as error:
        raise error if isinstance(error, PenstockError) else storage_error(error, place.store.place) from error


def _held(place: Place) -> Journal:
    """Hold a place; what lies beside the journal is ours from here on."""
    foreign = foreign_names(place)
    if foreign:
        hint = "move it away: packing needs a folder of this name for itself"
        what, file = "there are other files in the way", f"{shown(place.store.place)}/{JOURNAL_NAME}"
        raise UsageError(what, file=file, got=shown(foreign[0]), hint=hint)
    return Journal(place)


@contextmanager
def _closed_on_error(journal: Journal) -> Iterator[None]:
    try:
        yield
    except BaseException:
        journal.close()
        raise


def _another(where: str) -> UsageError:
    hint = "run the command that began it, or start over with --force (force=True)"
    what = "an unfinished pack of another source or with other settings is in the way"
    return UsageError(what, file=where, hint=hint)


def _exists(where: str) -> UsageError:
    hint = (
        "choose another destination, or replace it with --force (force=True), or add to it with --extend (extend=True)"
    )
    return UsageError("there is a dataset already", file=where, hint=hint)


def is_published(place: Place) -> bool:
    """Whether the place is a dataset already, as it is after a kill at the last step."""
    return place.size(MANIFEST_NAME) is not None


def _start_over(place: Place, journal: Journal, plan: bytes) -> None:
    """Remove what a pack wrote, and nothing else; the manifest first, so that no half of a dataset looks whole.

    The new plan comes last: where there is one, nothing of another dataset is left.
    """
    indexes = [name for name in place.files("") or () if INDEX_FILE.fullmatch(name)]
    place.remove([MANIFEST_NAME, *indexes, *_shards(place)])
    journal.begin(plan)


def _shards(place: Place) -> list[str]:
    """Name all files that are called like shards."""
    return [f"{SHARDS}/{name}" for name in place.files(SHARDS) or () if _SHARD_NAME.fullmatch(name)]
