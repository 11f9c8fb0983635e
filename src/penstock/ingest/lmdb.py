"""LMDB files as sources: Efficient-PyTorch's, tensorpack's, Caffe's, and any that hold an image per key.

    Efficient-PyTorch      "0" … "n-1": (image, label); `__keys__`, `__len__`
    tensorpack, dataflow   "00000000" …: [array of the image's bytes, label]; `__keys__`
    Caffe                  any keys: Datum

A record is in one of record.py's forms. Keys that are all numbers are samples in the order of these numbers, which is
how they were written; LMDB itself sorts them as text (0, 1, 10, 100, …). Any others are in LMDB's order. What
`__keys__` or `__len__` promise and the file does not have is reported, key by key.

The file is walked once (lmdb_pages.py), and each record is looked at once: for that it is read from one end to the
other. What the index then says is where each image is; reading it takes neither LMDB nor the record's wrapping. Images
whose bytes are not there as they are (raw pixels, old pickles) can be packed, but not opened in place.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.errors import SourceError, UsageError
from penstock.ingest.items import Ranges
from penstock.ingest.kind import Kind, Seen
from penstock.ingest.lmdb_pages import Values, is_lmdb, read_ranges, values_of
from penstock.ingest.record import WRAPPED, Record, form_of, record_of, value_of
from penstock.ingest.record_labels import labels_of_records
from penstock.ingest.source import BROKEN, UNREADABLE, Skipped, Source, shown
from penstock.ingest.unwrapped import Blob
from penstock.shard.keys import unique_keys
from penstock.storage.local import read_start, storage_error
from penstock.storage.location import is_url
from penstock.storage.object import ObjectStore
from penstock.storage.where import store_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from penstock.ingest.kind import Options

__all__ = ["LMDB"]

_DATA = "data.mdb"
_SPECIAL = frozenset({b"__keys__", b"__len__"})
_MOST_MISSING = 100_000  # named one by one; beyond that the file is not what it says it is
_EACH = 1000  # records between two words of progress
_TRIES = 16  # records among which one must have a form


def _seen(path: str, options: Options) -> Seen:
    """Look at the file."""
    folder, name = _placed(path)
    store = store_at(folder, options.access if is_url(folder) else None)
    if isinstance(store, ObjectStore):
        found = store.look(name) or store.look(f"{name}/{_DATA}")
        if found is None:
            raise UsageError("there is no LMDB file", file=shown(path))
        return Seen(store, (found.name,), np.array([found.size], np.int64), found.etag or "")
    size = store.size(name)
    if size is None:
        raise UsageError("there is no LMDB file", file=shown(path))
    return Seen(store, (name,), np.array([size], np.int64), str(os.stat(os.path.join(folder, name)).st_mtime_ns))


def _placed(path: str) -> tuple[str, str]:
    """Give the folder and the file's name; a folder stands for the file in it."""
    if not is_url(path) and os.path.isdir(path):
        return path, _DATA
    folder, _, name = path.rstrip("/").rpartition("/")
    return folder or ("/" if path.startswith("/") else "."), name


def _listed(path: str, options: Options) -> Source:
    """Walk the file."""
    seen = _seen(path, options)
    (name,), (size,) = seen.names, seen.sizes.tolist()
    values = values_of(seen.store, name, size)
    special = {key: number for number, key in enumerate(values.keys) if key in _SPECIAL}
    found = _in_order(values, set(special.values()))
    is_inside = (values.offset + values.length <= size)[found]
    skipped = [_cut(values, number) for number in found[~is_inside].tolist()]
    records, form, trouble = _records(seen, values, found[is_inside], shown(path), options.progress)
    skipped += trouble
    skipped += _missing(seen, values, special, form, shown(path))
    if not records:
        got = f"{len(values.keys)} keys, for example {skipped[0]}" if skipped else "no keys"
        raise SourceError("there are no images in this file", file=shown(path), got=got)
    rows = [record.labels for _, record in records]
    labels, classes, left_out = labels_of_records(rows, ("image",), path, options.labels)
    keys, items = _items(seen, values, records, form)
    return Source("lmdb", {"image": items}, keys, labels, classes, (*skipped, *left_out))


def _in_order(values: Values, special: set[int]) -> NDArray[np.int64]:
    """Give the numbers of the records' values: in the order of their keys as numbers, if these are all numbers."""
    found = [number for number in range(len(values.keys)) if number not in special]
    if all(values.keys[number].isdigit() for number in found):
        found.sort(key=lambda number: int(values.keys[number]))
    return np.array(found, np.int64)


def _cut(values: Values, number: int) -> Skipped:
    start, stop = int(values.offset[number]), int(values.offset[number] + values.length[number])
    return Skipped(_text(values.keys[number]), BROKEN, f"the file ends before its bytes, {start}-{stop}")


def _read(seen: Seen, values: Values, numbers: NDArray[np.int64]) -> Iterator[tuple[int, memoryview]]:
    """Read values, from the beginning of the file to its end."""
    by_place = numbers[np.argsort(values.offset[numbers], kind="stable")]
    found = read_ranges(seen.store, seen.names[0], values.offset[by_place], values.length[by_place])
    yield from zip(by_place.tolist(), found, strict=True)


def _records(
    seen: Seen,
    values: Values,
    numbers: NDArray[np.int64],
    path: str,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[tuple[int, _Found]], str, list[Skipped]]:
    """Look at every record: what there is, in which form, and what is no record."""
    form = _form(seen, values, numbers, path)
    found: dict[int, _Found] = {}
    broken: dict[int, Skipped] = {}
    for count, (number, data) in enumerate(_read(seen, values, numbers), 1):
        if progress is not None and (count % _EACH == 0 or count == len(numbers)):
            progress(count, len(numbers))
        record = _tried(data, form)
        if isinstance(record, Record):
            found[number] = _Found(record.place, record.labels)
        else:
            record.byte_range = _place(values, number)
            broken[number] = Skipped(_text(values.keys[number]), BROKEN, str(record).partition("\n")[0])
    inside = numbers.tolist()
    return [(one, found[one]) for one in inside if one in found], form, [broken[one] for one in inside if one in broken]


def _tried(data: bytes | memoryview, form: str) -> Record | SourceError:
    """Unwrap a record, or say why that cannot be."""
    try:
        return record_of(data, form)
    except SourceError as error:
        return error


def _formed(data: bytes) -> str | SourceError:
    """Find the form of a record, or say why it has none."""
    try:
        form = form_of(data)
    except SourceError as error:
        return error
    found = _tried(data, form)
    return form if isinstance(found, Record) else found


@final
@dataclass(frozen=True, slots=True)
class _Found:
    """What is kept of a record."""

    place: tuple[int, int] | None
    labels: dict[str, Any]


def _place(values: Values, number: int) -> tuple[int, int]:
    return int(values.offset[number]), int(values.offset[number] + values.length[number])


def _form(seen: Seen, values: Values, numbers: NDArray[np.int64], path: str) -> str:
    """Find the form of a file's records."""
    first = numbers[:_TRIES]
    found = {number: bytes(data) for number, data in _read(seen, values, first)}
    trouble: list[SourceError] = []
    for number in first.tolist():
        form = _formed(found[number])
        if isinstance(form, str):
            return form
        form.file, form.sample, form.byte_range = path, _text(values.keys[number]), _place(values, number)
        trouble.append(form)
    if trouble:
        raise trouble[0]
    return "image"


def _missing(seen: Seen, values: Values, special: dict[bytes, int], form: str, path: str) -> list[Skipped]:
    """Name what the file promises and does not have."""
    there = set(values.keys)
    said, trouble = _said(seen, values, special, form)
    promised, count = said.get(b"__keys__"), said.get(b"__len__")
    if promised is not None and count is not None and len(promised) != count:
        trouble.append(Skipped("__len__", BROKEN, f"it says {count}, but __keys__ names {len(promised)}"))
    if promised is None and count is not None and count - len(there) <= _MOST_MISSING:
        digits = len(values.keys[0]) if b"0" not in there else 1
        promised = [b"%0*d" % (digits, number) for number in range(count)]
    lacking = [key for key in promised or () if key not in there]
    if len(lacking) > _MOST_MISSING or (promised is None and count is not None):
        raise SourceError("most of the file is missing", file=path, got=f"{len(there)} keys", expected=count)
    why = "the file promises this record, but does not have it"
    return trouble + [Skipped(_text(key), UNREADABLE, why) for key in lacking]


def _said(seen: Seen, values: Values, special: dict[bytes, int], form: str) -> tuple[dict[bytes, Any], list[Skipped]]:
    """Read what a file says of itself: its keys, their number; and what of that cannot be read."""
    said: dict[bytes, Any] = {}
    trouble: list[Skipped] = []
    numbers = np.array(sorted(special.values()), np.int64)
    is_inside = (values.offset[numbers] + values.length[numbers]) <= seen.sizes[0]
    trouble += [_cut(values, number) for number in numbers[~is_inside].tolist()]
    for number, data in _read(seen, values, numbers[is_inside]):
        key = values.keys[number]
        found = _read_value(data, form)
        if isinstance(found, SourceError):
            trouble.append(Skipped(_text(key), BROKEN, str(found).partition("\n")[0]))
            continue
        said[key] = _as_keys(found) if key == b"__keys__" else found if type(found) is int else None
        if said[key] is None:
            what = "it is no list of keys" if key == b"__keys__" else "it is no number"
            trouble.append(Skipped(_text(key), BROKEN, what))
    return said, trouble


def _read_value(data: bytes | memoryview, form: str) -> Any:
    """Unwrap a value that is no record, or say why that cannot be."""
    try:
        return value_of(data, form if form in WRAPPED else form_of(data))
    except SourceError as error:
        return error


def _as_keys(value: Any) -> list[bytes] | None:
    """Take a list of keys, as bytes or as text."""
    if not isinstance(value, (list, tuple)):
        return None
    found = [one.encode("utf-8", "surrogateescape") if isinstance(one, str) else one for one in value]
    if not all(isinstance(one, (bytes, Blob)) for one in found):
        return None
    return [bytes(one) for one in found]


def _text(key: bytes) -> str:
    return shown(key.decode("utf-8", "surrogateescape"))


def _items(
    seen: Seen, values: Values, records: list[tuple[int, _Found]], form: str
) -> tuple[list[str], Ranges | Unwrapped]:
    """Give the samples' keys, and their images: parts of the file, or records to be unwrapped when they are read."""
    numbers = np.array([number for number, _ in records], np.int64)
    places = [record.place for _, record in records]
    names = [_text(values.keys[number]) for number in numbers.tolist()]
    keys, suffixes = unique_keys(names)
    offset, sizes, file = values.offset[numbers], values.length[numbers], np.zeros(len(numbers), np.int32)
    is_made = any(place is None for place in places)
    if not is_made:
        inside = np.array(places, np.int64).reshape(-1, 2)
        offset, sizes = offset + inside[:, 0], np.ascontiguousarray(inside[:, 1])
    items = Ranges(seen.store, seen.names, seen.sizes, seen.stamp, file, offset, sizes, names, suffixes)
    return keys, Unwrapped(items, form) if is_made else items


@final
@dataclass(frozen=True, slots=True)
class Unwrapped:
    """Images that are made of records when these are read."""

    records: Ranges
    form: str

    def __len__(self) -> int:
        return len(self.records)

    @property
    def suffixes(self) -> Sequence[str]:
        """What each name has after what its key is made of."""
        return self.records.suffixes

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many bytes the records have."""
        return self.records.sizes

    @property
    def is_far(self) -> bool:
        """Whether the store is."""
        return self.records.is_far

    def name(self, position: int) -> str:
        """Say which record it is."""
        return self.records.name(position)

    def read(self, position: int) -> list[bytes]:
        """Read a record, and make the image of it."""
        (data,) = self.records.read(position)
        record: Record = record_of(data, self.form)
        return [record.image()]

    def identity(self) -> Iterator[bytes]:
        """Give the records' identity and their form."""
        yield self.form.encode()
        yield from self.records.identity()


def _detects(path: str) -> bool:
    """Whether this is an LMDB file, or a folder with one. Of a URL its name alone tells."""
    if is_url(path):
        return path.rstrip("/").lower().endswith((".lmdb", ".mdb"))
    file = os.path.join(path, _DATA) if os.path.isdir(path) else path
    if not os.path.isfile(file):
        return False
    try:
        return is_lmdb(read_start(file, 64))
    except OSError as error:
        raise storage_error(error, file) from error


LMDB = Kind(
    name="lmdb",
    what="an LMDB file with an image per key: Efficient-PyTorch's, tensorpack's, Caffe's",
    detects=_detects,
    listed=_listed,
    options=frozenset({"labels"}),
    seen=_seen,
)
