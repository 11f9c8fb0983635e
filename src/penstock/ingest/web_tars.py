"""Tars in the WebDataset convention as sources: a file, a folder of them, many by a pattern, here or in a store.

    x.tar   tars/   x-{000000..000012}.tar   x-*.tar   s3://bucket/x-{0000..0003}.tar   https://host/x.tar

The headers of every tar are walked once (tar_walk.py): on a disk from one to the next, in a store by reading each tar
through in large requests, a few tars at a time. Then it is known where each image is, and it is read from there; the
tars are never unpacked. A compressed tar has no places: decompress it.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import posixpath
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import SourceError, StorageError, UsageError
from penstock.ingest.items import Ranges
from penstock.ingest.kind import Kind, Seen
from penstock.ingest.listing import IMAGE_SUFFIXES
from penstock.ingest.patterns import STARS, expanded, has_stars
from penstock.ingest.record_labels import labels_of_records
from penstock.ingest.source import BROKEN, NOT_AN_IMAGE, UNLABELLED, Skipped, Source, shown
from penstock.ingest.web_samples import TarSamples, samples_of
from penstock.ingest.windowed import Windowed
from penstock.shard.keys import split_name, unique_keys
from penstock.shard.members import kind_of
from penstock.storage.location import is_url
from penstock.storage.object import Listed, ObjectStore
from penstock.storage.where import store_at
from penstock.types import Frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.ingest.kind import Options
    from penstock.ingest.web_samples import Sample
    from penstock.storage.location import Access
    from penstock.storage.store import Store

__all__ = ["WEBDATASET"]

_SUFFIX = ".tar"
_COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
_BEGINNINGS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # the same, whatever the name
_AT_ONCE = 8  # tars that are walked at a time
_ASKED_AT_ONCE = 64


def _seen(path: str, options: Options) -> Seen:
    """Look at the tars."""
    paths = _paths(path, options.access)
    for one in paths:
        if one.lower().endswith(_COMPRESSED):
            raise _compressed(one)
    folder = _common(paths)
    store = store_at(folder, options.access if is_url(folder) else None)
    names = tuple(one[len(folder) :].lstrip("/") if is_url(folder) else os.path.relpath(one, folder) for one in paths)
    sizes, stamp = _looked_at(store, names)
    return Seen(store, names, sizes, stamp)


def _paths(path: str, access: Access | None) -> list[str]:
    """Give the tars that are meant, in order."""
    if not is_url(path) and os.path.isdir(path):
        return sorted(
            entry.path for entry in os.scandir(path) if _is_tar(entry.name) and not entry.name.startswith(".")
        )
    if not is_url(path) and os.path.exists(path):
        return [path]
    found = [one for pattern in expanded(path) for one in _fitting(pattern, access)]
    if len(set(found)) < len(found):
        twice = next(name for name, count in Counter(found).items() if count > 1)
        raise UsageError("a tar is named twice", file=shown(path), got=shown(twice))
    return found


def _fitting(pattern: str, access: Access | None) -> list[str]:
    """Give what fits a pattern with stars; a name without them is given as it is."""
    if not has_stars(pattern):
        return [pattern]
    if is_url(pattern):
        folder = posixpath.dirname(pattern[: next(at for at, letter in enumerate(pattern) if letter in STARS)])
        store = ObjectStore(folder, access)
        found = sorted(f"{folder}/{one.name}" for one in store.list())
        found = [one for one in found if fnmatch.fnmatchcase(one, pattern) and one.count("/") == pattern.count("/")]
    else:
        found = sorted(glob.glob(pattern))
    if not found:
        raise UsageError("nothing fits this pattern", file=shown(pattern))
    return found


def _common(paths: Sequence[str]) -> str:
    """Give the folder that all tars are below."""
    if not paths:
        raise UsageError("there are no tars")
    if is_url(paths[0]):
        parts = [one.split("/")[:-1] for one in paths]
        same = [one[0] for one in zip(*parts, strict=False)]
        depth = next((at for at, one in enumerate(zip(*parts, strict=False)) if len(set(one)) > 1), len(same))
        if depth < 3:  # scheme, nothing, bucket
            raise UsageError("tars of several stores", got=paths[0], expected="tars of one bucket")
        return "/".join(same[:depth])
    folders = [os.path.dirname(one) or "." for one in paths]
    return folders[0] if len(set(folders)) == 1 else os.path.commonpath(folders)


def _looked_at(store: Store, names: Sequence[str]) -> tuple[NDArray[np.int64], str]:
    """Give the sizes of the tars, and a stamp: times here, tags in a store."""
    looked: list[Listed | None]
    if isinstance(store, ObjectStore) and store.lists:
        wanted = set(names)
        found = {one.name: one for one in store.list(_beginning(min(names), max(names))) if one.name in wanted}
        looked = [found.get(name) for name in names]
    elif isinstance(store, ObjectStore):
        with ThreadPoolExecutor(_ASKED_AT_ONCE, "penstock-sizes") as pool:
            looked = list(pool.map(store.look, names))
    else:
        looked = [_on_disk(store, name) for name in names]
    there = [one for one in looked if one is not None]
    missing = [name for name, one in zip(names, looked, strict=True) if one is None]
    if missing:
        what, got = f"{len(missing)} of the {len(names)} tars are not there", f"no {shown(missing[0])}"
        error = StorageError(what, file=shown(store.place), got=got)
        error.errno = errno.ENOENT
        raise error
    return np.array([one.size for one in there], np.int64), " ".join(one.etag or "" for one in there)


def _on_disk(store: Store, name: str) -> Listed | None:
    size = store.size(name)
    if size is None:
        return None
    return Listed(name, size, str(os.stat(os.path.join(store.place, name)).st_mtime_ns))


def _beginning(first: str, last: str) -> str:
    """Give what two names begin with; if they are the first and the last of many, all do."""
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:same]


def _compressed(path: str) -> UsageError:
    hint = "decompress it first: parts of a compressed file cannot be read alone"
    return UsageError("the tar is compressed", file=shown(path), expected="a plain .tar", hint=hint)


def _listed(path: str, options: Options) -> Source:
    """Walk the tars."""
    seen = _seen(path, options)

    def walked(number: int) -> TarSamples:
        file = Windowed(seen.store, seen.names[number], int(seen.sizes[number]))
        if file.read(0, min(file.size, 8)).startswith(_BEGINNINGS):
            raise _compressed(seen.paths[number])
        return samples_of(file)

    tars: list[TarSamples] = []
    with ThreadPoolExecutor(_AT_ONCE, "penstock-tars") as pool:
        for tar in pool.map(walked, range(len(seen.names))):
            tars.append(tar)
            if options.progress is not None:
                options.progress(len(tars), len(seen.names))
    skipped = [one for tar in tars for one in tar.skipped]
    passed_over = sum((tar.passed_over for tar in tars), Counter[str]())
    skipped += [
        Skipped(what, NOT_AN_IMAGE, f"{count:,} of them", is_expected=True) for what, count in passed_over.items()
    ]
    every = [(number, sample) for number, tar in enumerate(tars) for sample in tar.samples]
    fields, odd = _fields([sample for _, sample in every])
    kept = list[tuple[int, Any]]()
    has_class = any("label" in sample.labels for _, sample in every)
    for number, sample in every:
        trouble = _trouble(sample, fields, has_class=has_class)
        if trouble is None:
            kept.append((number, sample))
        else:
            skipped.append(Skipped(f"{shown(seen.names[number])}: {shown(sample.key)}", *trouble))
    if not kept:
        got = str(skipped[0]).partition("\n")[0] if skipped else "no members"
        raise SourceError("there are no images in these tars", file=shown(path), got=got)
    labels, classes, left_out = labels_of_records([sample.labels for _, sample in kept], fields, path, options.labels)
    names = _names(seen, kept)
    items = {field: _ranges(seen, kept, field) for field in fields}
    return Source("webdataset", items, unique_keys(names)[0], labels, classes, (*skipped, *odd, *left_out))


def _fields(samples: Sequence[Sample]) -> tuple[tuple[str, ...], list[Skipped]]:
    """Name the images that samples have: those of at least half of them; the image first."""
    counts = Counter(field for sample in samples for field in sample.pictures)
    usual = [field for field, count in counts.items() if 2 * count >= len(samples)]
    usual.sort(key=lambda field: field != "image")
    odd = [
        Skipped(f"images called {shown(field)}", NOT_AN_IMAGE, f"only {count:,} samples have one", is_expected=True)
        for field, count in counts.items()
        if field not in usual
    ]
    return tuple(usual), odd


def _trouble(sample: Sample, fields: Sequence[str], *, has_class: bool) -> tuple[str, str] | None:
    """Say why a sample is none: outcome and reason."""
    if not sample.pictures:
        return NOT_AN_IMAGE, "it has no image"
    lacking = [field for field in fields if field not in sample.pictures]
    if lacking:
        return BROKEN, f"it has no {lacking[0]}, as others have"
    if has_class and "label" not in sample.labels:
        return UNLABELLED, "it has no .cls, as others have"
    return None


def _names(seen: Seen, kept: Sequence[tuple[int, Sample]]) -> list[str]:
    """Name samples: by their keys, and where several tars have the same ones, by their tars, too."""
    keys = [sample.key for _, sample in kept]
    if len(set(keys)) == len(keys):
        return keys
    tars = [split_name(name)[0] for name in seen.names]
    tars = tars if len(set(tars)) == len(tars) else list(seen.names)
    return [f"{tars[number]}/{sample.key}" for number, sample in kept]


def _ranges(seen: Seen, kept: Sequence[tuple[int, Sample]], field: str) -> Ranges:
    """Give one image or clip of every sample."""
    pictures = [sample.pictures[field] for _, sample in kept]
    return Ranges(
        seen.store,
        seen.names,
        seen.sizes,
        seen.stamp,
        np.array([number for number, _ in kept], np.int32),
        np.array([picture.offset for picture in pictures], np.int64),
        np.array([picture.length for picture in pictures], np.int64),
        [sample.key + picture.suffix for (_, sample), picture in zip(kept, pictures, strict=True)],
        [picture.suffix for picture in pictures],
        _frames([picture.frames or ((0, picture.length),) for picture in pictures])
        if kind_of(field) == "clip"
        else None,
    )


def _frames(clips: Sequence[tuple[tuple[int, int], ...]]) -> Frames:
    """Say where the frames of clips are."""
    first = np.concatenate([[0], np.cumsum([len(clip) for clip in clips])])
    places = np.array([place for clip in clips for place in clip], np.int64).reshape(-1, 2)
    return Frames(first, np.ascontiguousarray(places[:, 0]), np.ascontiguousarray(places[:, 1]), None)


def _is_tar(name: str) -> bool:
    return name.lower().endswith((_SUFFIX, *_COMPRESSED))


def _detects(path: str) -> bool:
    """Whether this is a tar by its name, a pattern of tars, or a folder with nothing in it but tars."""
    if is_url(path) or not os.path.isdir(path):
        return _is_tar(path) and (is_url(path) or os.path.isfile(path) or has_stars(path) or "{" in path)
    images, has_tars = tuple(IMAGE_SUFFIXES), False
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.lower().endswith(images) or (entry.is_dir() and not entry.name.startswith(".")):
                return False
            has_tars = has_tars or _is_tar(entry.name)
    return has_tars


WEBDATASET = Kind(
    name="webdataset",
    what="tars in the WebDataset convention: a file, a folder of them, x-{0000..0012}.tar, x-*.tar",
    detects=_detects,
    listed=_listed,
    options=frozenset({"labels"}),
    seen=_seen,
)
