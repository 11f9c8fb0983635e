"""Opening: from a path, a URL or a list of objects to the dataset that is there."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Literal

from penstock.dataset import Dataset
from penstock.errors import FormatError, StorageError, UsageError
from penstock.ingest.duplicates import one_of_each
from penstock.ingest.in_files import index_files
from penstock.ingest.in_place import index_folder
from penstock.ingest.items import Files
from penstock.ingest.kind import Options
from penstock.ingest.kinds import KINDS, in_place_kind, kind_at, open_source
from penstock.ingest.loose_objects import OBJECT_LIST
from penstock.ingest.object_index import open_objects
from penstock.ingest.object_list import is_object_list
from penstock.ingest.source import shown
from penstock.packed import PackedIndex
from penstock.shard.manifest import MANIFEST_NAME
from penstock.storage.cache import Cache
from penstock.storage.journal import is_unfinished
from penstock.storage.local import LocalStore
from penstock.storage.local_place import LocalPlace
from penstock.storage.location import is_url
from penstock.storage.object import ObjectStore
from penstock.storage.object_place import ObjectPlace

if TYPE_CHECKING:
    from penstock.ingest.file_index import FileIndex
    from penstock.storage.location import Access

__all__ = ["dataset_of", "open_dataset"]


def open_dataset(
    path: str | os.PathLike[str] | None = None,
    *,
    labels: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    classes: int | str | os.PathLike[str] | Literal[False] | None = None,
    access: Access | None = None,
    cache: Cache | str | os.PathLike[str] | None = None,
) -> Dataset:
    """Open a packed dataset, or a folder of images as it is (its labels from the class folders, or from a CSV file).

    A packed dataset may also lie in an object store: `path` is a URL then, s3://bucket/photos.pen, gs://, az:// or
    http(s)://. `access` says how to get at it: endpoint, region, profile, limits.

    A list of images, `path,label` or a table in CSV or JSON lines, opens those that it names, below `root` or its
    folder.

    Loose objects are opened by a list of them, at a path or a URL in .json (an array of keys) or .parquet, as `penstock
    index` makes it. `root` is what their keys are below, a URL or a folder; a Parquet list knows it. `classes` says
    which folder of the keys names the class (3: the fourth; -1, the default: the last), or is the path of a file of
    classes, or False. Without a path, list and root are those that `Access(config=…)` names.

    `cache` is a folder on a local disk in which as much of the data as there is room for is kept, wherever that lies;
    `Cache` says how much.
    """
    folder, kept_in = (
        _configured(access) if path is None else _text(path),
        None if cache is None else Cache.of(cache),
    )
    is_list, is_packed = is_object_list(folder), os.path.exists(os.path.join(folder, MANIFEST_NAME))
    kind = None if is_list or is_packed else in_place_kind(folder)
    takes_root = is_list or (kind is None and os.path.isfile(folder))
    if (root is not None and not takes_root) or (classes is not None and not is_list):
        expected = "the path of a .json or .parquet file"
        raise UsageError("root and classes are about indexes of objects", file=shown(folder), expected=expected)
    if is_list:
        objects = _opened_list(folder, labels, root, classes, access=access)
    elif is_packed or (is_url(folder) and kind is None):
        if labels is not None:
            raise UsageError("a packed dataset has its labels", file=shown(folder), hint="leave `labels` out")
        return Dataset(_opened_packed(folder, access, kept_in))
    elif kind is not None:
        if not is_url(folder):
            _refuse_access(folder, access)
        objects = index_files(kind, folder, Options(labels=None if labels is None else _text(labels), access=access))
    else:
        objects = _opened_files(folder, labels, root, access)
    if kept_in is not None:
        objects.keep_in(kept_in)
    return Dataset(objects)


def _opened_list(
    folder: str,
    labels: str | os.PathLike[str] | None,
    root: str | os.PathLike[str] | None,
    classes: int | str | os.PathLike[str] | Literal[False] | None,
    *,
    access: Access | None,
) -> FileIndex:
    """Open loose objects, or the files of another list with a name like that of one."""
    if labels is not None:
        raise UsageError("an index of objects has classes", file=shown(folder), hint="say classes, not labels")
    try:
        return open_objects(folder, root=root, classes=classes, access=access)
    except FormatError:
        if (
            classes is not None
            or is_url(folder)
            or not any(kind.detects(folder) for kind in KINDS if kind is not OBJECT_LIST)
        ):
            raise
    return _opened_files(folder, None, root, access)


def _opened_packed(folder: str, access: Access | None, cache: Cache | None) -> PackedIndex:
    if not is_url(folder):
        _refuse_access(folder, access)
        return PackedIndex(LocalStore(folder), cache=cache)
    store = ObjectStore(folder, access)
    try:
        return PackedIndex(store, cache=cache)
    except StorageError as error:
        if error.errno == errno.ENOENT and store.lists and is_unfinished(ObjectPlace(store)):
            raise _unfinished(store.place) from None
        raise


def _opened_files(
    folder: str,
    labels: str | os.PathLike[str] | None,
    root: str | os.PathLike[str] | None,
    access: Access | None,
) -> FileIndex:
    """Open images that are files of their own: those in a folder, or those that a list names."""
    _refuse_access(folder, access)
    if is_unfinished(LocalPlace(folder)):
        raise _unfinished(folder)
    if not os.path.exists(folder):
        expected = "a packed dataset or a folder of images"
        raise UsageError("there is no dataset here", file=shown(folder), expected=expected)
    named, below = (None if path is None else os.fspath(path) for path in (labels, root))
    kind = kind_at(folder)
    source = (
        one_of_each(open_source(folder, kind.name, Options(labels=named, root=below))) if kind.is_of_files else None
    )
    if source is None or not all(isinstance(items, Files) for items in source.fields.values()):
        hint = "pack it: `penstock pack`"
        raise UsageError(f"a source of kind {kind.name} cannot be opened in place", file=shown(folder), hint=hint)
    return index_folder(source, named, folder if os.path.isfile(folder) else None)


def _refuse_access(folder: str, access: Access | None) -> None:
    if access is not None:
        raise UsageError("access is about object stores", file=shown(folder), expected="a URL such as s3://bucket/path")


def _unfinished(path: str) -> UsageError:
    hint = "run the same `penstock pack` again: it goes on where it stopped"
    return UsageError("this dataset is not finished: packing it was interrupted", file=shown(path), hint=hint)


def _configured(access: Access | None) -> str:
    """Give the index that a JSON configuration names."""
    found = {} if access is None else access.read_config()
    if "index_file_download_url" not in found:
        expected = "a path, or Access(config=…) with index_file_download_url"
        raise UsageError("there is nothing to open", expected=expected)
    return found["index_file_download_url"]


def dataset_of(given: Dataset | str | os.PathLike[str]) -> Dataset:
    """Take a dataset, or open the one at a path."""
    return given if isinstance(given, Dataset) else open_dataset(_text(given))


def _text(path: str | os.PathLike[str]) -> str:
    """Take a path, other than as bytes."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise UsageError("this is no path of a dataset", got=repr(path), expected="a str or a pathlib.Path")
    return text
