"""Loose objects opened in place: an index over the objects that a list names, wherever they are.

To read an object whole one must know its size. A Parquet list has sizes, and may have checksums. For a JSON array sizes
are looked up once: by a listing of what the keys have in common, page by page, or object by object where these are few,
or where the store cannot list. On a local disk each file is asked, every time, and must have the size that a list gives
it.

What that comes to is kept in the user's cache, named after root, keys, labels and sizes known before: opened again, it
is there at once. Format, width and height of the images are not asked for: they are read with the images.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.errors import SourceError, UsageError
from penstock.ingest.file_index import FileIndex, file_table, kept_index, unread
from penstock.ingest.object_classes import by_file, by_folder
from penstock.ingest.object_list import decode_list
from penstock.ingest.source import shown
from penstock.pipeline.options import whole_number
from penstock.shard.index import encode_index
from penstock.shard.keys import unique_keys
from penstock.storage.local import LocalStore
from penstock.storage.location import is_url
from penstock.storage.object import Listed, ObjectStore
from penstock.storage.user_cache import SIZES, keep, user_cache
from penstock.storage.where import read_anywhere

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from penstock.ingest.object_classes import Classes
    from penstock.ingest.object_list import ObjectList
    from penstock.storage.location import Access

__all__ = ["classes_of", "looked_up", "open_objects", "origin_of", "root_of"]

_FEW = 1000  # as many as a page of a listing has: asking for each costs no more than looking for them
_AT_ONCE = 64
_NAMED = 3  # objects that an error names


def open_objects(
    path: str,
    *,
    root: str | os.PathLike[str] | None = None,
    classes: int | str | os.PathLike[str] | Literal[False] | None = None,
    access: Access | None = None,
) -> FileIndex:
    """Give the index of the objects that a list at a path or a URL names."""
    objects = decode_list(read_anywhere(path, access), path)
    place = root_of(objects, path, None if root is None else os.fspath(root), access)
    keys = objects.keys
    named = objects.classes if classes is None and objects.classes else classes_of(keys, classes, access)
    sums = objects.checksums
    store = ObjectStore(place, access, compares=sums is None) if is_url(place) else LocalStore(place)
    sizes = objects.sizes if isinstance(store, ObjectStore) else _checked(store, keys, objects.sizes)
    name = _name(store, keys, sizes, named, sums)
    stored_at = os.path.join(user_cache(SIZES), f"{name[:32]}.parquet")
    kept = kept_index(store, stored_at)
    if kept is not None:
        return kept
    if sizes is None:
        assert isinstance(store, ObjectStore)
        found = looked_up(store, keys)
        sizes = _all_there([None if one is None else one.size for one in found], keys, store.place)
    labels: dict[str, Any] = {} if named is None else {"label": pa.array(named.labels)}
    columns = {"image.length": pa.array(sizes), **unread("image", len(keys)), **labels}
    columns |= {} if sums is None else {"image.crc32c": pa.array(sums)}
    digest = hashlib.sha256(name.encode() + sizes.tobytes()).hexdigest()
    table = file_table(keys, unique_keys(keys)[0], columns, digest=digest, classes=named.names if named else None)
    is_kept = keep(stored_at, encode_index(table), what=f"the index of {shown(path)}")
    return FileIndex(store, table, stored_at if is_kept else None)


def classes_of(
    keys: Sequence[str], classes: int | str | os.PathLike[str] | Literal[False] | None, access: Access | None
) -> Classes | None:
    """Give the classes of objects: by a folder in their keys (which one), or by a file (its path); or none (False)."""
    if classes is False:
        return None
    if classes is None:
        return by_folder(keys)
    if isinstance(classes, (str, os.PathLike)):
        file = os.fspath(classes)
        return by_file(keys, read_anywhere(file, access), shown(file))
    part = whole_number(classes, what="classes: which folder of the keys, a file of classes, or False")
    return by_folder(keys, part)


def root_of(objects: ObjectList, path: str, root: str | None, access: Access | None) -> str:
    """Say what the keys of a list are below: a folder or a URL."""
    place = objects.root or _bucket(access) if root is None else root
    if place is None:
        expected = "root='s3://bucket/place', or a folder: what the keys are below"
        raise UsageError("this index does not say where its objects are", file=shown(path), expected=expected)
    if access is not None and not is_url(place) and not is_url(path):
        raise UsageError("access is about object stores", file=shown(place), expected="a URL such as s3://bucket/path")
    return place


def _bucket(access: Access | None) -> str | None:
    """Give the root that a JSON configuration names."""
    bucket = None if access is None else access.read_config().get("bucket_name")
    return None if bucket is None else f"s3://{bucket}"


def origin_of(store: LocalStore | ObjectStore) -> tuple[str, str | None]:
    """Tell stores apart: one bucket may be there at several endpoints."""
    if isinstance(store, LocalStore):
        return os.path.realpath(store.place), None
    return store.place, store.access.s3_options().get("endpoint") if store.location.scheme == "s3" else None


def _name(
    store: LocalStore | ObjectStore,
    keys: Sequence[str],
    sizes: NDArray[np.int64] | None,
    classes: Classes | None,
    sums: NDArray[np.uint32] | None,
) -> str:
    """Name what is known of objects before a store is asked."""
    names = None if classes is None else classes.names
    found = hashlib.sha256(repr((*origin_of(store), len(keys), names)).encode("utf-8", "surrogateescape"))
    found.update("\0".join(keys).encode())
    found.update(b"" if classes is None else classes.labels.tobytes())
    found.update(b"" if sizes is None else b"sizes" + sizes.tobytes())
    found.update(b"" if sums is None else b"crc32c" + sums.tobytes())
    return found.hexdigest()


def _checked(store: LocalStore, keys: Sequence[str], stated: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Ask the files of a folder for their sizes, which must be those stated."""
    sizes = _all_there([_file_size(store.path(key)) for key in keys], keys, store.place)
    if stated is not None and (sizes != stated).any():
        other = np.flatnonzero(sizes != stated)
        at = int(other[0])
        raise SourceError(
            f"{len(other)} files have another size than when they were indexed",
            file=shown(store.path(keys[at])),
            got=f"{sizes[at]:,} bytes",
            expected=f"{stated[at]:,}",
            hint="make the index anew: `penstock index`",
        )
    return sizes


def _file_size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def looked_up(store: ObjectStore, keys: Sequence[str]) -> list[Listed | None]:
    """Ask a store for sizes and tags of objects; None where there is no such object."""
    if not store.lists or len(keys) <= _FEW:
        with ThreadPoolExecutor(_AT_ONCE, "penstock-sizes") as pool:
            return list(pool.map(store.look, keys))
    missing, there = set(keys), dict[str, Listed]()
    for found in store.list(_beginning(min(keys), max(keys))):
        if found.name in missing:
            missing.remove(found.name)
            there[found.name] = found
            if not missing:
                break
    return [there.get(key) for key in keys]


def _beginning(first: str, last: str) -> str:
    """Give what two names begin with; if they are the first and the last of many, all do."""
    return first[: next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _all_there(sizes: Sequence[int | None], keys: Sequence[str], place: str) -> NDArray[np.int64]:
    missing = [shown(key) for key, size in zip(keys, sizes, strict=True) if size is None]
    if missing:
        got = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
        what = f"{len(missing)} of the {len(keys)} objects of the index are not there"
        hint = "keys are names below the root: is it the right one?"
        if is_url(place) and posixpath.basename(place) and any(key.startswith(_path_of(place)) for key in keys):
            hint = f"the keys begin with the root's own path: say root={place.removesuffix('/' + _path_of(place))!r}"
        raise SourceError(what, file=shown(place), got=got, hint=hint)
    return np.array(sizes, np.int64)


def _path_of(place: str) -> str:
    """Give the path of a URL, or the URL where it has none."""
    return place.split("/", 3)[-1]
