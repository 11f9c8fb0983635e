"""Read plans: every range asked for is covered, and no more is read than the rule allows."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.ranges import plan_reads

ranges = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 300), st.integers(0, 60)), max_size=30)


def plan_of(wanted, gap):
    file, offset, length = (np.array([part[i] for part in wanted], np.int64) for i in range(3))
    return plan_reads(file.astype(np.int32), offset, length, gap_bytes=gap)


@given(ranges, st.integers(0, 40))
def test_every_range_is_found_where_the_plan_says(wanted, gap):
    files = [np.random.default_rng(i).integers(0, 256, 400, dtype=np.uint8) for i in range(3)]
    plan = plan_of(wanted, gap)
    block = np.zeros(plan.block_bytes, np.uint8)
    for file, offset, length, position in zip(plan.file, plan.offset, plan.length, plan.position, strict=True):
        block[position : position + length] = files[file][offset : offset + length]
    for (file, offset, length), start, read in zip(wanted, plan.start, plan.read, strict=True):
        assert (block[start : start + length] == files[file][offset : offset + length]).all()
        assert plan.file[read] == file


@given(ranges, st.integers(0, 40))
def test_reads_are_sorted_apart_and_merged_only_across_small_gaps(wanted, gap):
    plan = plan_of(wanted, gap)
    places = list(zip(plan.file.tolist(), plan.offset.tolist(), plan.length.tolist(), strict=True))
    for (file, offset, length), (next_file, next_offset, _) in pairwise(places):
        assert file < next_file or (file == next_file and next_offset > offset + length + gap)
    for number, (_, offset, length) in enumerate(places):
        inside = [wanted[i] for i in np.flatnonzero(plan.read == number)]
        unwanted = np.ones(length, bool)
        for _, start, size in inside:
            unwanted[start - offset : start - offset + size] = False
        longest = max((len(run) for run in "".join("x" if u else " " for u in unwanted).split()), default=0)
        assert longest <= gap


@given(ranges, st.integers(0, 40), st.sampled_from([1, 8, 64]))
def test_aligned_reads_hold_the_same_bytes(wanted, gap, alignment):
    files = [np.random.default_rng(i).integers(0, 256, 448, dtype=np.uint8) for i in range(3)]
    file, offset, length = (np.array([part[i] for part in wanted], np.int64) for i in range(3))
    plan = plan_reads(file.astype(np.int32), offset, length, gap_bytes=gap, alignment=alignment)
    assert not (np.concatenate((plan.offset, plan.length, plan.position)) % alignment).any()
    block = np.zeros(plan.block_bytes, np.uint8)
    for number, begin, size, position in zip(plan.file, plan.offset, plan.length, plan.position, strict=True):
        block[position : position + size] = files[number][begin : begin + size]
    for (number, begin, size), start in zip(wanted, plan.start, strict=True):
        assert (block[start : start + size] == files[number][begin : begin + size]).all()


def test_neighbours_become_one_read():
    plan = plan_of([(0, 2000, 500), (0, 0, 1000), (1, 0, 7)], gap=1000)
    assert plan.offset.tolist() == [0, 0]
    assert plan.length.tolist() == [2500, 7]
    assert plan.start.tolist() == [2000, 0, 2500]
    assert plan.block_bytes == 2507


def test_nothing_asked_is_nothing_read():
    assert len(plan_of([], gap=0)) == 0
