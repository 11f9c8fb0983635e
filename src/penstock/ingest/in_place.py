"""An image folder opened in place: an index over files that stay untouched.

Every file's header is read once for format and size; that index is kept in the user's cache folder, keyed by the
paths of the folder and of its labels, and holds as long as the listing does (names, sizes, times, labels). Nothing is
ever written into the folder itself.

A file whose header makes no sense keeps its place, with the format "unknown" and a size of 1x1: numbers and order of
the samples stay those of the files, and whoever decodes that sample gets its error. The same goes for a file that the
system would not give; but that may pass, so an index with such a file is not kept.
"""

from __future__ import annotations

import hashlib
import logging
import os
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from penstock.decode.image import probe_image, sniff
from penstock.errors import ImageError
from penstock.ingest.file_index import FileIndex, file_table, kept_index, said_of_all
from penstock.ingest.items import Files
from penstock.ingest.source import Source, shown
from penstock.shard.index import encode_index
from penstock.storage.local import LocalStore, read_file, read_start
from penstock.storage.user_cache import keep, user_cache

__all__ = ["index_folder"]

_HEADER_BYTES = 64 * 1024  # enough for nearly every header, previews in EXIF data included
_PROBING_THREADS = 16  # opening files is waiting, on a cold disk most of all
_NAMES = pa.dictionary(pa.int32(), pa.string())
_UNKNOWN = ("unknown", 1, 1)


def index_folder(source: Source, labels: str | None = None, listed_by: str | None = None) -> FileIndex:
    """Give the index of a listed folder: the cached one where it still holds, else a new one.

    `labels` is the file that the labels came from, `listed_by` the list that names the images: a folder has one index
    for each.
    """
    files = source.fields["image"]
    assert isinstance(files, Files)
    root = files.root
    store, digest = LocalStore(root), source.digest()
    stored_at = os.path.join(user_cache("in_place"), f"{_cache_name(source.kind, root, labels, listed_by)}.parquet")
    kept = kept_index(store, stored_at, digest)
    if kept is not None and kept.skipped == source.skipped:
        return kept
    if kept is not None:  # the same samples, beside which other files are none by now: no header is read again
        said = said_of_all(digest=digest, classes=source.classes, skipped=source.skipped)
        return _kept(store, kept.table.replace_schema_metadata(said), stored_at)
    table, unread = _table(source, digest)
    if unread:
        what = "the index of %s is not cached, because %d files could not be read; the first: %s"
        logging.getLogger("penstock").warning(what, shown(root), len(unread), unread[0])
        return FileIndex(store, table, None)
    return _kept(store, table, stored_at)


def _kept(store: LocalStore, table: pa.Table, stored_at: str) -> FileIndex:
    is_kept = keep(stored_at, encode_index(table), what=f"the index of {shown(store.place)}")
    return FileIndex(store, table, stored_at if is_kept else None)


def _cache_name(kind: str, *made_of: str | None) -> str:
    parts = [kind.encode(), *(os.fsencode(os.path.realpath(path)) for path in made_of if path is not None)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _table(source: Source, digest: str) -> tuple[pa.Table, list[OSError]]:
    """Read every header; (index, what the system said about the files that it would not give)."""
    files = source.fields["image"]
    assert isinstance(files, Files)
    with ThreadPoolExecutor(_PROBING_THREADS, "penstock-probe") as pool:
        paths = (files.path(position) for position in range(len(source)))
        found = list(pool.map(_probe, paths, chunksize=64))
    unread = [answer for answer in found if isinstance(answer, OSError)]
    formats, widths, heights = zip(
        *(_UNKNOWN if isinstance(answer, OSError) else answer for answer in found), strict=True
    )
    columns = {
        "image.length": pa.array(files.sizes),
        "image.format": pa.array(formats, pa.string()).dictionary_encode().cast(_NAMES),
        "image.width": pa.array(widths, pa.int32()),
        "image.height": pa.array(heights, pa.int32()),
        **{name: source.labels.column(name) for name in source.labels.column_names},
    }
    table = file_table(files.names, source.keys, columns, digest=digest, classes=source.classes, skipped=source.skipped)
    return table, unread


def _probe(path: str) -> tuple[str, int, int] | OSError:
    try:
        start = read_start(path, _HEADER_BYTES)
        try:
            return probe_image(start)
        except ImageError:  # what matters may come later: large metadata, a TIFF's directory
            if len(start) < _HEADER_BYTES or sniff(start) is None:
                return _UNKNOWN
            return probe_image(read_file(path))
    except ImageError:
        return _UNKNOWN
    except OSError as error:
        return error
