"""Pieces: ranges of frames, and bounds on what reading them takes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.pieces import byte_range, checksums, frame_number, most_bytes, ranges, rows_of, spans, usual_bytes
from penstock.storage.ranges import FRAME_GAP_BYTES, plan_reads
from penstock.types import Column, Frames

lengths_of = st.lists(st.lists(st.integers(1, 60_000), min_size=1, max_size=12), min_size=1, max_size=8)


def column_of(lengths, *, gap=700):
    """Clips one after another in one file, something between them."""
    sizes = np.array([sum(one) for one in lengths])
    counts = np.array([len(one) for one in lengths])
    first = np.concatenate([[0], np.cumsum(counts)])
    flat = np.array([length for one in lengths for length in one], np.int64)
    offset = np.concatenate([np.cumsum(one) - one for one in map(np.array, lengths)]).astype(np.int64)
    n = len(lengths)
    return Column(
        file=np.zeros(n, np.int32),
        offset=np.cumsum(sizes + gap) - sizes,
        length=sizes,
        crc32c=np.arange(n, dtype=np.uint32),
        format=np.zeros(n, np.uint8),
        width=np.ones(n, np.int32),
        height=np.ones(n, np.int32),
        formats=("mjpeg",),
        frames=Frames(first, offset, flat, np.arange(len(flat), dtype=np.uint32)),
    )


@st.composite
def choices(draw):
    """Clips, which of them, and frames of each, as many."""
    lengths = draw(lengths_of)
    ids = draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=8))
    frames = draw(st.integers(1, 6))
    chosen = [sorted(draw(st.integers(0, len(lengths[i]) - 1)) for _ in range(frames)) for i in ids]
    return lengths, np.array(ids), np.array(chosen)


@given(choices())
def test_a_frame_is_where_those_before_it_end(given_):
    lengths, ids, numbers = given_
    column = column_of(lengths)
    chosen = column.frames.first[ids][:, None] + numbers
    file, offset, length = ranges(column, ids, chosen)
    assert file.shape == offset.shape == length.shape == numbers.T.shape
    for at, number in enumerate(ids.tolist()):
        for row, frame in enumerate(numbers[at].tolist()):
            begin = int(column.offset[number]) + sum(lengths[number][:frame])
            assert (int(offset[row, at]), int(length[row, at])) == (begin, lengths[number][frame])
            position = int(chosen[at, row])
            assert byte_range(column, number, position) == (begin, begin + lengths[number][frame])
            assert frame_number(column, number, position) == frame
    assert np.array_equal(checksums(column, ids, chosen), chosen.T)


def test_without_a_choice_a_piece_is_all_of_a_sample():
    column = column_of([[5, 6], [7]])
    ids = np.array([1, 0])
    assert [array.tolist() for array in ranges(column, ids, None)] == [[[0, 0]], [[1411, 700]], [[7, 11]]]
    assert checksums(column, ids, None).tolist() == [[1, 0]]
    assert byte_range(column, 0) == (700, 711)
    assert list(spans(column.frames, 0)) == [(0, 5), (5, 11)]


@given(choices(), st.sampled_from([1, 512, 4096]))
def test_no_choice_of_frames_takes_more_than_the_bound(given_, alignment):
    lengths, ids, numbers = given_
    ids, at = np.unique(ids, return_index=True)
    numbers = numbers[at]
    column = column_of(lengths)
    file, offset, length = ranges(column, ids, column.frames.first[ids][:, None] + numbers)
    plan = plan_reads(file.reshape(-1), offset.reshape(-1), length.reshape(-1), alignment=alignment)
    assert plan.block_bytes <= int(most_bytes(column, numbers.shape[1], alignment=alignment)[ids].sum())


def test_what_is_expected_counts_the_frames_between_where_they_are_read_with_the_others():
    column = column_of([[1000] * 20, [50_000] * 20])
    assert usual_bytes(column, 4, 3).tolist() == [12_000, 200_000]
    assert usual_bytes(column, 400, 1).tolist() == [20_000, 1_000_000]
    assert FRAME_GAP_BYTES < 100_000


@given(lengths_of, st.data())
def test_rows_have_the_frames_of_their_samples(lengths, data):
    column = column_of(lengths)
    rows = np.array(data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=6)), np.int64)
    found = rows_of(column, rows)
    assert found.frames.first[0] == 0
    for at, row in enumerate(rows.tolist()):
        assert list(spans(found.frames, at)) == list(spans(column.frames, row))
        own = slice(int(found.frames.first[at]), int(found.frames.first[at + 1]))
        assert found.frames.crc32c[own].tolist() == list(range(*column.frames.first[row : row + 2].tolist()))
