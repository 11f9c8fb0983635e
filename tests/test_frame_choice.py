"""The choice of frames: the same for a batch and for a window, by name and epoch; how much it will read."""

import numpy as np
import pytest

import penstock
from penstock.errors import UsageError
from penstock.frame_choice import FrameChoice
from penstock.transforms import ClipSample
from tests.clip_datasets import COUNTS, records, write_dataset


@pytest.fixture(scope="module")
def columns(tmp_path_factory):
    root = write_dataset(tmp_path_factory.mktemp("two") / "two.pen", records(fields=("clip", "flow_clip")))
    return {name: penstock.open(root).column(name) for name in ("clip", "flow_clip")}


def test_a_sample_shows_the_same_frames_whoever_asks_with_it(columns):
    choice = FrameChoice(columns, ClipSample(4, 2), seed=7)
    assert choice.frames == {"clip": 4, "flow_clip": 4}
    ids = np.arange(len(COUNTS))
    all_of_them, some = choice.of(ids, ids, 3), choice.of(ids[[5, 1]], ids[[5, 1]], 3)
    assert np.array_equal(all_of_them["clip"][[5, 1]], some["clip"])
    assert not np.array_equal(choice.of(ids, ids, 4)["clip"], all_of_them["clip"])
    first = columns["clip"].frames.first
    numbers = all_of_them["clip"] - first[:-1, None]
    assert (numbers >= 0).all()
    assert (numbers < np.array(COUNTS)[:, None]).all()
    assert np.array_equal(all_of_them["flow_clip"], all_of_them["clip"])  # as many frames, one draw


def test_samples_that_come_twice_in_an_epoch_draw_by_their_places(columns):
    choice = FrameChoice(columns, ClipSample(2, 1), seed=7)
    ids = np.full(200, 5)
    shown = choice.of(ids, ~np.arange(200), 0)["clip"]
    assert len(np.unique(shown[:, 0])) > 30


def test_without_a_choice_clips_are_shown_whole_where_that_is_one_shape(columns):
    with pytest.raises(UsageError, match="the clips of clip differ in how many frames they have: got 1 to 50"):
        FrameChoice(columns, None, seed=0)
    with pytest.raises(UsageError, match="none of the fields holds clips"):
        FrameChoice({}, ClipSample(), seed=0)
    assert FrameChoice({}, None, seed=0).of(np.arange(3), np.arange(3), 0) == {}


def test_what_it_will_read_is_between_the_frames_and_the_clips(columns):
    choice = FrameChoice(columns, ClipSample(4, 2), seed=0)
    usual, most = choice.usual_bytes(), choice.most_bytes()
    lengths = columns["clip"].length
    assert (usual["clip"] <= lengths).all()
    assert (most["clip"] >= usual["clip"]).all()
