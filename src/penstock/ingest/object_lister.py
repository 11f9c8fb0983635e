"""Makes a list of loose objects: of all images below a place, in the order of an image folder.

What is no image by its name is counted with the reason, as a folder opened in place does it: hidden names, other
suffixes. The order is that of `list_folder`, so sample i of the list is sample i of the same files as a folder.

A listing costs a request per thousand names and is not kept: whoever is killed lists again. The list itself is written
last, and at once. Only checksums take long, so of these progress is kept (object_sums.py).
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.errors import UsageError
from penstock.ingest.listing import IMAGE_SUFFIXES, list_folder, place_in_order
from penstock.ingest.object_index import classes_of, origin_of
from penstock.ingest.object_list import ObjectList, encode_list
from penstock.ingest.object_sums import Named, Progress, sum_objects
from penstock.ingest.source import shown
from penstock.storage.local import LocalStore
from penstock.storage.location import Location, is_url
from penstock.storage.object import ObjectStore
from penstock.storage.where import write_anywhere

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from penstock.storage.location import Access

__all__ = ["IndexReport", "index_objects"]

HIDDEN, SUFFIX, NO_TEXT = "hidden", "by the suffix of its name", "its name is not UTF-8"
_EACH = 1000  # files between two words of progress


@final
@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a list has, and what it has not."""

    path: str
    root: str
    objects: int
    bytes: int
    classes: int | None
    skipped: dict[str, int]
    """How many names were passed over, by the reason."""

    def as_dict(self) -> dict[str, Any]:
        """Give the fields, for JSON."""
        return asdict(self)


def index_objects(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    suffixes: Sequence[str] = (),
    full_keys: bool = False,
    classes: int | str | os.PathLike[str] | Literal[False] | None = None,
    checksums: bool = False,
    access: Access | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> IndexReport:
    """List the images below a URL or a folder, and write the list to `out`, a path or a URL in .json or .parquet.

    An image is what has one of the `suffixes` (default: those of all formats), in letters of any case. Keys are
    relative to the source, or with `full_keys` to its bucket. `classes` are those of `penstock.open`; a list in .json
    has none. With `checksums` every object is read, so that whoever reads it later can tell whether it is still the
    same; a call that was interrupted goes on where it was. `progress` is told what is being counted, "names" that were
    looked at or "objects" that were read, how many so far, and of how many, if that is known.
    """
    place, path = os.fspath(source), os.fspath(out)
    encode_list(ObjectList([], np.empty(0, np.int64)), path)  # refuses a name of neither form before anything is listed
    if access is not None and not is_url(place) and not is_url(path):
        raise UsageError("access is about object stores", file=shown(place), expected="a URL such as s3://bucket/path")
    is_array = path.lower().endswith(".json")
    if is_array and classes is not None:
        hint = "write .parquet, or say the classes when the list is opened"
        raise UsageError("a list in .json is an array of keys and has no classes", file=shown(path), hint=hint)
    if is_array and checksums:
        raise UsageError(
            "a list in .json is an array of keys and has no checksums", file=shown(path), hint="write .parquet"
        )
    if full_keys and not is_url(place):
        raise UsageError("full keys are those of a bucket", file=shown(place), hint="leave --full-keys out")
    wanted = tuple(f".{suffix.lower().removeprefix('.')}" for suffix in suffixes) or tuple(sorted(IMAGE_SUFFIXES))
    skipped: Counter[str] = Counter()
    tell = progress or (lambda _, __, ___: None)
    listed = _in_store if is_url(place) else _in_folder
    found = listed(place, wanted, access, skipped, lambda done: tell("names", done, None))
    if not found:
        others = f"{skipped.total()} others" if skipped else "nothing at all"
        raise UsageError("no images here", file=shown(place), got=others, expected=f"names in {', '.join(wanted)}")
    found.sort(key=lambda one: place_in_order(one.name))
    keys, root = [one.name for one in found], place if is_url(place) else os.path.abspath(place)
    if is_url(place):
        location = Location.of(place)
        root = location.root if full_keys else str(location)
        keys = [location.name(key) for key in keys] if full_keys else keys
    sizes = np.fromiter((one.size for one in found), np.int64, len(found))
    named = None if is_array else classes_of(keys, classes, access)
    store = ObjectStore(place, access) if is_url(place) else LocalStore(place)
    kept = Progress(*origin_of(store))
    sums = sum_objects(store, found, kept, lambda done: tell("objects", done, len(found))) if checksums else None
    write_anywhere(path, encode_list(ObjectList(keys, sizes, named, root, sums), path), access)
    if checksums:
        kept.finish()
    count = None if named is None or named.names is None else len(named.names)
    return IndexReport(shown(path), shown(root), len(keys), int(sizes.sum()), count, dict(skipped))


def _in_store(
    place: str, suffixes: tuple[str, ...], access: Access | None, skipped: Counter[str], tell: Callable[[int], None]
) -> list[Named]:
    found = []
    for at, one in enumerate(ObjectStore(place, access).list(), 1):
        if one.name.startswith(".") or "/." in one.name:
            skipped[HIDDEN] += 1
        elif not one.name.lower().endswith(suffixes):
            skipped[SUFFIX] += 1
        else:
            found.append(Named(one.name, one.size, one.etag))
        if at % _EACH == 0:
            tell(at)
    return found


def _in_folder(
    place: str, suffixes: tuple[str, ...], _: Access | None, skipped: Counter[str], tell: Callable[[int], None]
) -> list[Named]:
    listing = list_folder(place, suffixes)
    skipped.update(item.why for item in listing.skipped)
    tell(len(listing.files) + len(listing.skipped))
    named = [Named(file.name, file.size, str(file.mtime_ns)) for file in listing.files if _is_text(file.name)]
    if len(named) < len(listing.files):
        skipped[NO_TEXT] += len(listing.files) - len(named)
    return named


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)
