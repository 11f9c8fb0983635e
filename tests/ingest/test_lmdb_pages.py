"""The pages of LMDB files: every key and value that the real library wrote, found without it; damage named."""

import struct

import lmdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.ingest.lmdb_pages import is_lmdb, read_ranges, values_of
from penstock.storage.local import LocalStore
from tests import lmdbs
from tests.unwrapping import is_read_or_refused


def walked(path):
    """Keys and values by our own walk."""
    store, size = LocalStore(str(path.parent)), path.stat().st_size
    values = values_of(store, path.name, size)
    found = [bytes(one) for one in read_ranges(store, path.name, values.offset, values.length, at_once_bytes=5000)]
    return list(zip(values.keys, found, strict=True))


def stored(path):
    """Keys and values by LMDB's cursor."""
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as environment, environment.begin() as reading:
        return list(reading.cursor())


@given(
    st.dictionaries(st.binary(min_size=1, max_size=40), st.binary(max_size=60) | st.integers(0, 20_000), max_size=60)
)
@settings(max_examples=60)
def test_keys_and_values_are_those_of_the_real_library(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("lmdb") / "x.lmdb"
    lmdbs.write(path, [(key, value if isinstance(value, bytes) else b"v" * value) for key, value in content.items()])
    assert walked(path) == stored(path)


def test_a_deep_tree_with_large_keys_is_walked(tmp_path):
    path = lmdbs.write(tmp_path / "x.lmdb", [(b"%0400d" % at, b"%d" % at) for at in range(2000)])
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as environment:
        assert environment.stat()["depth"] >= 4
    assert walked(path) == stored(path)


def test_the_newer_meta_page_counts_after_every_change(tmp_path):
    path = tmp_path / "x.lmdb"
    for turn in range(5):
        opened = lmdb.open(str(path), subdir=False, map_size=1 << 24, lock=False)
        with opened as environment, environment.begin(write=True) as writing:
            for at in range(turn * 50):
                writing.put(str(at).encode(), bytes([turn]) * (at * 40))
            for at in range(0, turn * 50, 7):
                writing.delete(str(at).encode())
        assert walked(path) == stored(path)


def test_a_file_without_records_has_none(tmp_path):
    assert walked(lmdbs.write(tmp_path / "x.lmdb", [])) == []


@pytest.mark.parametrize("page_bytes", [4096, 16384, 32768])
def test_pages_of_other_sizes_are_found(tmp_path, page_bytes):
    """As other machines write them, whose pages are larger: one leaf, one value in overflow pages."""
    big = bytes(range(256)) * 300

    def page(number, flags, content, lower=16):
        return (struct.pack("<QHHHH", number, 0, flags, lower, page_bytes) + content).ljust(page_bytes, b"\0")

    def meta(number, transaction, entries):
        trees = struct.pack("<IHHQQQQQ", page_bytes, 8, 0, 0, 0, 0, 0, 2**64 - 1)
        trees += struct.pack("<IHHQQQQQ", 0, 0, 1, 0, 1, 2, entries, 2)
        return page(number, 8, struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, 0) + trees + struct.pack("<QQ", 9, transaction))

    def node(key, value, flags=0, size=None):
        made = struct.pack("<IHH", len(value) if size is None else size, flags, len(key)) + key + value
        return made + bytes(len(made) % 2)

    nodes = [node(b"a", b"small"), node(b"b", struct.pack("<Q", 3), flags=1, size=len(big))]
    lower = 16 + 2 * len(nodes)
    table = struct.pack("<2H", lower, lower + len(nodes[0]))
    leaf = page(2, 2, table + b"".join(nodes), lower)
    overflow = (struct.pack("<QHHI", 3, 0, 4, 2) + big).ljust(-(-len(big) // page_bytes + 1) * page_bytes, b"\0")
    (tmp_path / "x").write_bytes(meta(0, 6, 99) + meta(1, 7, 2) + leaf + overflow.ljust(20 * page_bytes, b"\0"))
    assert walked(tmp_path / "x") == [(b"a", b"small"), (b"b", big)]


def test_several_values_per_key_and_named_databases_are_refused(tmp_path):
    opened = lmdb.open(str(tmp_path / "several"), subdir=False, max_dbs=2, lock=False)
    with opened as environment, environment.begin(write=True) as writing:
        writing.put(b"x", b"y", db=environment.open_db(b"named", writing))
    with pytest.raises(SourceError, match="has named databases: got b'named'"):
        walked(tmp_path / "several")
    made = bytearray(lmdbs.write(tmp_path / "twice", [(b"x", b"y")]).read_bytes())
    for page in (0, 4096):
        made[page + 16 + 24 + 48 + 4] |= 0x04  # the flag MDB_DUPSORT of the main database, which Python cannot set
    (tmp_path / "twice").write_bytes(made)
    with pytest.raises(SourceError, match="several values per key"):
        walked(tmp_path / "twice")


def test_what_is_no_such_file_is_said(tmp_path):
    (tmp_path / "x").write_bytes(b"something else altogether")
    with pytest.raises(SourceError, match=r"no file of LMDB: got it begins 73 6f .*file .*/x"):
        walked(tmp_path / "x")
    assert not is_lmdb(b"")


def test_a_file_that_was_cut_short_says_which_page_is_missing(tmp_path):
    path = lmdbs.write(tmp_path / "x.lmdb", [(b"%d" % at, b"v" * 3000) for at in range(500)])
    path.write_bytes(path.read_bytes()[: 5 * 4096])
    with pytest.raises(SourceError, match=r"outside the file: got page \d+, expected 2 to 4 .*\n\nhint: .* cut short"):
        walked(path)


def test_a_tree_that_runs_in_circles_is_refused(tmp_path):
    path = lmdbs.write(tmp_path / "x.lmdb", [(b"%0400d" % at, b"") for at in range(500)])
    data = np.frombuffer(path.read_bytes(), np.uint8).copy()
    flags = data.reshape(-1, 4096)[:, 10:12].copy().view("<u2")[:, 0]
    for number in np.flatnonzero(flags == 1).tolist():  # every branch has its last page twice
        page = data[number * 4096 : (number + 1) * 4096]
        (lower,) = struct.unpack_from("<H", page, 12)
        nodes = struct.unpack_from(f"<{(lower - 16) // 2}H", page, 16)
        page[nodes[-1] : nodes[-1] + 6] = page[nodes[0] : nodes[0] + 6]
    path.write_bytes(data.tobytes())
    with pytest.raises(SourceError, match="a page is in the tree twice"):
        walked(path)


@given(st.data())
@settings(max_examples=300)
def test_damage_gives_the_values_or_our_error(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "damaged_lmdb"
    if not folder.exists():
        folder.mkdir()
        lmdbs.write(folder / "whole", [(b"%0100d" % at, b"v" * (at * 90)) for at in range(60)])
    made = bytearray((folder / "whole").read_bytes())
    pages = len(made) // 4096
    for _ in range(data.draw(st.integers(1, 6))):
        page = data.draw(st.integers(0, min(pages - 1, 12)) | st.integers(max(pages - 9, 0), pages - 1))
        at = page * 4096 + data.draw(st.integers(0, 160) | st.integers(0, 4095))
        made[at] = data.draw(st.integers(0, 255))
    (folder / "x").write_bytes(made[: data.draw(st.sampled_from([len(made), 3 * 4096, 100]))])
    assert is_read_or_refused(walked, folder / "x")
