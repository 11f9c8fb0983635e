"""ClipSample: the rule that it states, and that nothing but seed, epoch and sample decides."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.order import Draws
from penstock.transforms import ClipSample, Plan, RandomHorizontalFlip, RandomResizedCrop

counts_of = st.lists(st.integers(1, 300), min_size=1, max_size=20).map(np.array)


def chosen(sample, counts, seed=0):
    return sample.choose(np.asarray(counts), Draws.of(seed, 0, np.arange(len(counts))))


@given(counts_of, st.integers(1, 20), st.integers(1, 5), st.sampled_from(["random", "center", 0, 7, 1000]))
def test_every_frame_is_a_frame_of_the_clip_stride_apart_and_the_last_one_is_shown_where_it_ends(
    counts, frames, stride, start
):
    shown = chosen(ClipSample(frames, stride, start), counts)
    assert shown.shape == (len(counts), frames)
    for count, row in zip(counts.tolist(), shown.tolist(), strict=True):
        first = row[0]
        assert 0 <= first <= max(count - frames * stride, 0)
        assert row == [min(first + at * stride, count - 1) for at in range(frames)]


@given(counts_of, st.integers(1, 9), st.integers(1, 3))
def test_a_start_that_is_given_is_kept_to_as_long_as_enough_frames_follow(counts, frames, stride):
    spare = np.maximum(counts - frames * stride, 0)
    assert chosen(ClipSample(frames, stride, 5), counts)[:, 0].tolist() == np.minimum(spare, 5).tolist()
    assert chosen(ClipSample(frames, stride, "center"), counts)[:, 0].tolist() == (spare // 2).tolist()


def test_random_starts_are_all_as_likely_and_reach_both_ends():
    starts = chosen(ClipSample(4, 2), np.full(30_000, 17))[:, 0]
    assert sorted(set(starts.tolist())) == list(range(10))
    assert np.bincount(starts).min() > 2800
    assert not np.array_equal(starts, chosen(ClipSample(4, 2), np.full(30_000, 17), seed=1)[:, 0])


def test_clips_of_one_sample_with_as_many_frames_show_the_same_ones():
    draws = Draws.of(3, 1, np.arange(50))
    sample, counts = ClipSample(3, 2), np.arange(50) + 6
    assert np.array_equal(sample.choose(counts, draws), sample.choose(counts, draws))


def test_crops_and_flips_are_drawn_as_they_would_be_without_it():
    moves = [RandomResizedCrop(16), RandomHorizontalFlip()]
    sizes = np.full(20, 60, np.int32), np.full(20, 40, np.int32)
    with_it, without = (
        Plan(given).geometry(*sizes, Draws.of(0, 0, np.arange(20))) for given in ([ClipSample(), *moves], moves)
    )
    assert np.array_equal(with_it.regions, without.regions)
    assert np.array_equal(with_it.flips, without.flips)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frames": 0}, "frames: got 0, expected a whole number, at least 1"),
        ({"frames": True}, "frames"),
        ({"stride": 0}, "stride"),
        ({"stride": 1.5}, "stride"),
        ({"start": -1}, '"random", "center" or a whole number, at least 0'),
        ({"start": "end"}, "start"),
        ({"pad": "loop"}, "pad: got 'loop', expected 'repeat_last'"),
        ({"layout": "THWC"}, "layout"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(options, words):
    with pytest.raises(UsageError, match=words):
        ClipSample(**options)


def test_a_plan_has_one_of_them():
    with pytest.raises(UsageError, match="one ClipSample"):
        Plan([ClipSample(), ClipSample(3)])
    plan = Plan([ClipSample(3), RandomResizedCrop(16)])
    assert plan.sampling == ClipSample(3)
    assert "sampling=ClipSample(frames=3" in repr(plan)
