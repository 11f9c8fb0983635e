"""The pages of an LMDB file: where every value lies, without LMDB.

An LMDB file is pages of one size. The first two are meta pages, written in turns: the one with the larger transaction
number is the newer. It names the root of a B+ tree. A branch page holds keys and numbers of pages, a leaf page holds
keys and values; a value too large for that lies in overflow pages, which follow one another. So every value is one
range of bytes, and an index over ranges is all that it takes to read it, from a disk or from a store.

    page      number (8), padding (2), flags (2), lower (2), upper (2); 16-bit places of nodes, up to `lower`
    node      lo (2), hi (2), flags (2), length of the key (2), key, value
              of a leaf, lo and hi are the value's length; of a branch, with the flags, the number of the page below
    meta      page header; magic (4), version (4), address (8), map size (8), two trees of 48 bytes, last page (8),
              transaction (8)
    tree      page size or padding (4), flags (2), depth (2), branches, leaves, overflow pages, entries, root (8 each)

Numbers are little-endian, pages as a 64-bit machine writes them. Nothing of a file is believed: places are compared
with the page, pages with the file, and no page is visited twice. What is read is the pages of the tree, level by level,
in few large reads; no value is touched. Files are never written, and no lock is taken: a file that somebody still
writes is not to be read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import SourceError
from penstock.ingest.source import shown
from penstock.storage.ranges import plan_reads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from penstock.storage.store import Store

__all__ = ["Values", "is_lmdb", "read_ranges", "values_of"]

_MAGIC = 0xBEEFC0DE
_VERSION = 1
_HEADER = 16
_BRANCH, _LEAF, _OVERFLOW = 0x01, 0x02, 0x04
_TREE = struct.Struct("<IHHQQQQQ")
_META = struct.Struct("<IIQQ")
_BIG, _SUBTREE, _DUPLICATES = 0x01, 0x02, 0x04  # flags of nodes
_DUPSORT = 0x04  # of a tree
_NO_PAGE = 2**64 - 1
_DEEPEST = 32  # LMDB's own limit
_PAGE_BYTES = (256, 32768)  # the smallest and the largest page that there is
_AT_ONCE_BYTES = 16 << 20  # pages held at a time
_MOST_PAGES = 2**46  # their bytes can be counted in 64 bits


@dataclass(frozen=True, slots=True)
class Values:
    """Keys in LMDB's order, and where the value of each is."""

    keys: list[bytes]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Tree:
    page_bytes: int
    depth: int
    entries: int
    root: int | None


@dataclass(frozen=True, slots=True)
class _File:
    """A file that is being walked."""

    store: Store
    name: str
    size: int

    @property
    def path(self) -> str:
        return shown(f"{self.store.place}/{self.name}")

    def broken(self, what: str, offset: int, length: int, *, got: object = None) -> SourceError:
        return SourceError(what, file=self.path, byte_range=(offset, offset + length), got=got)


def is_lmdb(start: bytes) -> bool:
    """Whether a file that begins so is one of LMDB."""
    return len(start) >= 20 and struct.unpack_from("<I", start, _HEADER)[0] == _MAGIC


def values_of(store: Store, name: str, size: int) -> Values:
    """Walk the tree of a file: every key of its unnamed database, and the range of its value."""
    file = _File(store, name, size)
    tree = _newest(file)
    keys: list[bytes] = []
    places: list[tuple[int, int]] = []
    level, seen = [] if tree.root is None else [tree.root], set[int]()
    for depth in range(tree.depth):
        below: list[int] = []
        is_last = depth == tree.depth - 1
        for number, page in _pages(file, tree.page_bytes, level):
            if number in seen:
                raise file.broken("a page is in the tree twice", number * tree.page_bytes, tree.page_bytes)
            seen.add(number)
            if is_last:
                found = list(_leaf(file, tree.page_bytes, number, page))
                keys += [key for key, _, _ in found]
                places += [(offset, length) for _, offset, length in found]
            else:
                below += _branch(file, tree.page_bytes, number, page)
        level = below
    if len(keys) != tree.entries:
        raise SourceError("the tree is incomplete", file=file.path, got=f"{len(keys)} keys", expected=tree.entries)
    ranges = np.array(places, np.int64).reshape(-1, 2)
    return Values(keys, np.ascontiguousarray(ranges[:, 0]), np.ascontiguousarray(ranges[:, 1]))


def read_ranges(
    store: Store, name: str, offset: NDArray[np.int64], length: NDArray[np.int64], at_once_bytes: int = _AT_ONCE_BYTES
) -> Iterator[memoryview]:
    """Read parts of a file in the order given, in few large reads; about so many bytes are held at a time."""
    ends = np.cumsum(length)
    first = 0
    while first < len(offset):
        limit = at_once_bytes + (int(ends[first - 1]) if first else 0)
        stop = max(int(np.searchsorted(ends, limit, side="right")), first + 1)
        part = slice(first, stop)
        plan = plan_reads(np.zeros(stop - first, np.int32), offset[part], length[part])
        block = np.empty(plan.block_bytes, np.uint8)
        for failure in store.begin([name], plan, block).failures():
            where = (int(plan.offset[failure.read]), int(plan.offset[failure.read] + plan.length[failure.read]))
            what, path = "the file ends before these bytes", shown(f"{store.place}/{name}")
            raise failure.error or SourceError(what, file=path, byte_range=where)
        view = memoryview(block.data)
        for start, size in zip(plan.start.tolist(), length[part].tolist(), strict=True):
            yield view[start : start + size]
        first = stop


def _newest(file: _File) -> _Tree:
    """Read the meta pages and give the tree of the newer one."""
    start = _read(file, 0, min(file.size, _HEADER + _META.size + 2 * _TREE.size + 16))
    if not is_lmdb(start):
        raise SourceError("this is no file of LMDB", file=file.path, got=f"it begins {start[:24].hex(' ')}")
    first = _meta(file, 0, start)
    if first is None:
        raise file.broken("the file ends within its first page", 0, file.size)
    page_bytes = first[0].page_bytes
    second = _meta(file, page_bytes, _read(file, page_bytes, min(len(start), max(file.size - page_bytes, 0))))
    found = max((meta for meta in (first, second) if meta is not None), key=lambda meta: meta[1])
    return found[0]


def _meta(file: _File, offset: int, data: bytes) -> tuple[_Tree, int] | None:
    """Read one meta page: its tree and its transaction. None where it is none: a crash may leave one behind."""
    if len(data) < _HEADER + _META.size + 2 * _TREE.size + 16 or not is_lmdb(data):
        return None
    _, version, _, _ = _META.unpack_from(data, _HEADER)
    if version != _VERSION:
        raise file.broken("another version of LMDB's files", offset, len(data), got=f"{version}, expected {_VERSION}")
    at = _HEADER + _META.size
    page_bytes = _TREE.unpack_from(data, at)[0]
    _, flags, depth, _, _, _, entries, root = _TREE.unpack_from(data, at + _TREE.size)
    (transaction,) = struct.unpack_from("<Q", data, at + 2 * _TREE.size + 8)
    if not _PAGE_BYTES[0] <= page_bytes <= _PAGE_BYTES[1] or page_bytes & (page_bytes - 1):
        raise file.broken("the size of pages cannot be", offset, len(data), got=page_bytes)
    if flags & _DUPSORT:
        hint = "a database with several values per key cannot be read: export it with LMDB's own tools"
        raise SourceError("the database has several values per key (MDB_DUPSORT)", file=file.path, hint=hint)
    if depth > _DEEPEST or (root == _NO_PAGE) != (depth == 0):
        raise file.broken("the tree's depth cannot be", offset, len(data), got=depth)
    return _Tree(page_bytes, depth, entries, None if root == _NO_PAGE else root), transaction


def _read(file: _File, offset: int, length: int) -> bytes:
    (data,) = read_ranges(file.store, file.name, np.array([offset], np.int64), np.array([length], np.int64))
    return bytes(data)


def _pages(file: _File, page_bytes: int, numbers: list[int]) -> Iterator[tuple[int, bytes]]:
    """Read pages of the tree."""
    last = file.size // page_bytes
    for number in numbers:
        if not 2 <= number < last:
            hint = "the file was cut short, or is still being written"
            what = "a page of the tree lies outside the file"
            raise SourceError(what, file=file.path, got=f"page {number}", expected=f"2 to {last - 1}", hint=hint)
    offset = np.array(numbers, np.int64) * page_bytes
    found = read_ranges(file.store, file.name, offset, np.full(len(numbers), page_bytes, np.int64))
    yield from ((number, bytes(page)) for number, page in zip(numbers, found, strict=True))


def _nodes(file: _File, page_bytes: int, number: int, page: bytes, kind: int) -> Iterator[tuple[int, int, int, int]]:
    """Give the nodes of a page: (where its key begins, length of the key, flags, lo and hi)."""
    stored, _, flags, lower, upper = struct.unpack_from("<QHHHH", page)
    where = number * page_bytes
    if stored != number or flags & (_BRANCH | _LEAF | _OVERFLOW) != kind:
        what = f"this is not a {'leaf' if kind == _LEAF else 'branch'} of the tree"
        raise file.broken(what, where, page_bytes, got=f"page {stored}, flags {flags:#x}")
    if not _HEADER <= lower <= upper <= page_bytes or lower % 2:
        raise file.broken("a page's table of nodes cannot be", where, page_bytes, got=f"{lower} and {upper}")
    for at in struct.unpack_from(f"<{(lower - _HEADER) // 2}H", page, _HEADER):
        if at + 8 > page_bytes or at < lower:
            raise file.broken("a node lies outside its page", where, page_bytes, got=at)
        size, node_flags, key_bytes = struct.unpack_from("<IHH", page, at)
        if at + 8 + key_bytes > page_bytes:
            raise file.broken("a key reaches past the end of its page", where, page_bytes, got=at)
        yield at + 8, key_bytes, node_flags, size


def _branch(file: _File, page_bytes: int, number: int, page: bytes) -> list[int]:
    """Give the pages below a branch."""
    return [low | flags << 32 for _, _, flags, low in _nodes(file, page_bytes, number, page, _BRANCH)]


def _leaf(file: _File, page_bytes: int, number: int, page: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Give a leaf's keys, and offset and length of their values."""
    base = number * page_bytes
    for start, key_bytes, flags, size in _nodes(file, page_bytes, number, page, _LEAF):
        key, at = page[start : start + key_bytes], start + key_bytes
        if flags & (_SUBTREE | _DUPLICATES):
            hint = "databases inside the database cannot be read: export the one that is wanted with LMDB's own tools"
            raise SourceError("the file has named databases", file=file.path, got=repr(key), hint=hint)
        if at + (8 if flags & _BIG else size) > page_bytes:
            raise file.broken("a value reaches past the end of its page", base, page_bytes, got=repr(key))
        place = base + at
        if flags & _BIG:
            (overflow,) = struct.unpack_from("<Q", page, at)
            place = overflow * page_bytes + _HEADER
            if not 2 <= overflow < _MOST_PAGES:
                raise file.broken("a value's overflow page cannot be", base, page_bytes, got=f"{overflow} of {key!r}")
        yield key, place, size
