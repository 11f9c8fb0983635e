"""Classes of loose objects: from the folders in their keys, or from a file of classes.

From folders: each key has one folder that names its class, and classes are numbered in sorted order, as those of an
image folder are.

From a file of classes, a JSON object in one of two forms:

    by folder    {"n02119789": {"id": 1, "name": "kit_fox"}, …}    the last folder of a key that the file knows
    by number    {"1": 490, "2": 361, …}                           the last number in a file's name, …_00000001.JPEG

Classes are numbered from 0 in the order of their ids (of their names, where the file by number has names). So two files
number alike if they name the same classes, wherever their own numbers begin. Every class of the file counts, those
without an image, too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from penstock.errors import SourceError
from penstock.ingest.source import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Classes", "by_file", "by_folder"]

_NUMBER = re.compile(r"(\d+)\D*$", re.ASCII)
_NAMED = 3  # keys that an error names
_EXPECTED = '{"folder": {"id": 1, "name": "kit_fox"}, …} or {"image number": class, …}'


@final
@dataclass(frozen=True, slots=True)
class Classes:
    """A number for each key, and the name that each number stands for; None: the index states no names."""

    labels: NDArray[np.int64]
    names: tuple[str, ...] | None


def by_folder(keys: Sequence[str], part: int | None = None) -> Classes | None:
    """Take a folder of each key for its class: the one at `part`, counted from 0, or from -1 at the end.

    Without `part` it is the folder that the object lies in; then keys that lie in one folder, or in none, have no
    classes.
    """
    if part is None and len({key.rpartition("/")[0] for key in keys}) < 2:
        return None
    at = -1 if part is None else part
    folders = [key.split("/")[:-1] for key in keys]
    lacking = [key for key, those in zip(keys, folders, strict=True) if not -len(those) <= at < len(those)]
    if lacking:
        hint = "say which folder of the keys it is (classes=0 is the first), give a file of classes, or classes=False"
        which = "of their own" if part is None else f"number {part}"
        _refuse(f"{len(lacking)} keys have no folder {which} to name their class", lacking, hint=hint)
    return _numbered([those[at] for those in folders])


def by_file(keys: Sequence[str], data: bytes, file: str) -> Classes:
    """Look the classes up in a file."""
    try:
        body = json.loads(data)
    except ValueError as error:
        raise SourceError(f"the classes are not JSON: {error}", file=file, expected=_EXPECTED) from None
    if not isinstance(body, dict) or not body:
        raise SourceError("the classes are not a JSON object", file=file, expected=_EXPECTED)
    if all(isinstance(entry, dict) for entry in body.values()):
        return _by_name_of_folder(keys, body, file)
    return _by_number(keys, body, file)


def _by_name_of_folder(keys: Sequence[str], body: Mapping[str, dict[str, Any]], file: str) -> Classes:
    for folder, entry in body.items():
        if type(entry.get("id")) is not int or not isinstance(entry.get("name", ""), str):
            raise SourceError("a class has no id", file=file, got=f"{folder!r}: {entry!r}", expected=_EXPECTED)
    order = sorted(body, key=lambda folder: int(body[folder]["id"]))
    ids = Counter(entry["id"] for entry in body.values())
    if len(ids) < len(body):
        raise SourceError("two classes have one id", file=file, got=ids.most_common(1)[0][0])
    called = {folder: str(body[folder].get("name", folder)) for folder in order}
    shared = {name for name, count in Counter(called.values()).items() if count > 1}
    names = tuple(f"{name} ({folder})" if name in shared else name for folder, name in called.items())
    number = {folder: at for at, folder in enumerate(order)}
    labels = [next((number[part] for part in reversed(key.split("/")[:-1]) if part in number), -1) for key in keys]
    return Classes(_all_known(labels, keys, "folders that are no class", file), names)


def _by_number(keys: Sequence[str], body: Mapping[str, Any], file: str) -> Classes:
    classes: dict[str, int | str] = {}
    for text, entry in body.items():
        if not (text.isascii() and text.isdigit()) or type(entry) not in {int, str}:
            raise SourceError("an entry is of neither form", file=file, got=f"{text!r}: {entry!r}", expected=_EXPECTED)
        if classes.setdefault(_plain(text), entry) != entry:
            raise SourceError("two classes for one number", file=file, got=text)
    values = set(classes.values())
    if len({type(value) for value in values}) > 1:
        raise SourceError("some classes are numbers and some are names", file=file, expected="all of one kind")
    order: list[Any] = sorted(values)
    place = {value: at for at, value in enumerate(order)}
    of_number = {number: place[value] for number, value in classes.items()}
    labels = [of_number.get(_number_in(key), -1) for key in keys]
    return Classes(_all_known(labels, keys, "numbers that have no class", file), tuple(str(value) for value in order))


def _number_in(key: str) -> str:
    """Give the last number in a file's name, leaving its suffix aside; no text where there is none."""
    base = key.rpartition("/")[2]
    found = _NUMBER.search(base.rpartition(".")[0] or base)
    return "" if found is None else _plain(found[1])


def _plain(number: str) -> str:
    return number.lstrip("0") or "0"


def _numbered(names: Sequence[str]) -> Classes:
    order = sorted(set(names))
    number = {name: at for at, name in enumerate(order)}
    labels = np.fromiter((number[name] for name in names), np.int64, len(names))
    return Classes(labels, tuple(shown(name) for name in order))


def _all_known(labels: list[int], keys: Sequence[str], what: str, file: str) -> NDArray[np.int64]:
    numbers = np.array(labels, np.int64)
    unknown = np.flatnonzero(numbers < 0).tolist()
    if unknown:
        hint = "the file must name the class of every object; other classes, or none: classes=False"
        _refuse(f"{len(unknown)} keys have {what}", [keys[at] for at in unknown], hint=hint, file=file)
    return numbers


def _refuse(what: str, keys: Sequence[str], *, hint: str, file: str | None = None) -> NoReturn:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    raise SourceError(what, file=file, got=", ".join(map(shown, keys[:_NAMED])) + more, hint=hint)
