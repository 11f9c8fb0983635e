"""Headers read off the bytes of a batch, where the index does not know them."""

import numpy as np

from penstock.decode.batch import Encoded, Expected
from penstock.decode.headers import read_headers
from penstock.types import UNREAD, Column
from tests.images import jpeg, photo, png


def encoded(*files, formats=(UNREAD,)):
    lengths = np.array([len(data) for data in files], np.int64)
    count = len(files)
    column = Column(
        file=np.arange(count, dtype=np.int32),
        offset=np.zeros(count, np.int64),
        length=lengths,
        crc32c=None,
        format=np.arange(count, dtype=np.uint8) % len(formats),
        width=np.full(count, 7, np.int32),
        height=np.full(count, 5, np.int32),
        formats=formats,
    )
    block = np.frombuffer(b"".join(files), np.uint8)
    return Encoded(Expected.of(column, np.arange(count)), block, np.cumsum(lengths) - lengths, lengths)


FILES = (jpeg(photo(40, 24)), png(photo(30, 20)), b"<html>", b"", jpeg(photo(16, 8)))


def test_ways_and_sizes_are_those_that_the_headers_say():
    given = encoded(*FILES)
    assert given.expected.is_unread
    read, found, errors = read_headers(given)
    assert not read.expected.is_unread
    assert read.expected.sizes[[0, 1, 4]].tolist() == found[[0, 1, 4]].tolist() == [[40, 24], [30, 20], [16, 8]]
    known = encoded(*FILES, formats=("jpeg", "png", "unknown", "unknown", "jpeg"))
    assert read.expected.kinds.tolist() == known.expected.kinds.tolist()
    assert sorted(errors) == [2, 3]
    assert (found[[2, 3]] > 60_000).all()  # no crop is too large for what will not be decoded
    assert given.expected.sizes.max() == 7  # a batch is a view of thousands of samples: it is not written to


def test_what_the_index_knows_and_what_is_left_out_is_not_read():
    read, found, errors = read_headers(encoded(*FILES, formats=("jpeg", UNREAD)), leave_out={3: None})
    assert found[[0, 2, 4]].tolist() == [[0, 0]] * 3
    assert read.expected.sizes[[0, 1, 2]].tolist() == [[7, 5], [30, 20], [7, 5]]
    assert errors == {}
