"""The loader over epochs and ranks: shares, states, resuming, epochs without a gap."""

import json
from itertools import islice

import numpy as np
import pytest

import penstock
from penstock.errors import UsageError
from penstock.loader import Loader, verify_resume
from penstock.order import WindowShuffle
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop
from tests.datasets import COUNT, packed

AUGMENT = (RandomResizedCrop(16), RandomHorizontalFlip())
SHUFFLES = ["full", False, WindowShuffle(lanes=4, window_bytes=40_000, block_bytes=8_000)]


def loader(**options):
    return Loader(packed(), **{"batch_size": 5, "transforms": AUGMENT, "seed": 3, "threads": 1, **options})


def samples_of(batches):
    """Ids and pixels of what is no padding, in order."""
    found = []
    for batch in batches:
        count = len(batch.ids) - batch.padding
        found += zip(batch.ids[:count].tolist(), map(bytes, batch.images[:count]), strict=True)
    return found


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("options", [{}, {"drop_last": True}, {"pad_last": True}])
def test_ranks_share_an_epoch_in_equal_batches(shuffle, options):
    ranks = [loader(shuffle=shuffle, rank=rank, world_size=4, **options) for rank in range(4)]
    batches = [list(rank) for rank in ranks]
    assert len({len(rank) for rank in ranks} | {len(found) for found in batches}) == 1
    ids = sorted(number for found in batches for number, _ in samples_of(found))
    assert len(ids) == len(set(ids)) == (40 if "drop_last" in options else COUNT)
    assert len({tuple(len(batch.ids) for batch in found) for found in batches}) == 1
    assert "pad_last" not in options or all(len(batch.ids) == 5 for found in batches for batch in found)


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_any_number_of_ranks_sees_the_same_global_batches(shuffle):
    def global_batches(world_size, batch_size):
        ranks = [
            loader(shuffle=shuffle, rank=rank, world_size=world_size, batch_size=batch_size, drop_last=True)
            for rank in range(world_size)
        ]
        return [set(np.concatenate([batch.ids for batch in batches]).tolist()) for batches in zip(*ranks, strict=True)]

    assert global_batches(1, 8) == global_batches(2, 4) == global_batches(4, 2)


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_run_goes_on_with_exactly_the_remaining_samples(shuffle):
    with loader(shuffle=shuffle) as whole:
        reference = samples_of(whole), samples_of(whole)
    first = loader(shuffle=shuffle)
    batches = iter(first)
    before = samples_of(islice(batches, 4))
    state = json.loads(json.dumps(first.state_dict()))
    assert len(json.dumps(state)) < 1000
    first.close()
    second = loader(shuffle=shuffle, batch_size=3, threads=2, memory=10**7)
    verify_resume(second, [state])
    second.load_state_dict(state)
    assert second.epoch == 0
    assert before + samples_of(second) == reference[0]
    assert samples_of(second) == reference[1]
    second.close()


def test_a_second_resume_goes_on_from_the_first():
    with loader() as whole:
        reference = samples_of(whole)
    found, state = [], None
    for _ in range(5):
        with loader() as part:
            if state is not None:
                part.load_state_dict(state)
            found += samples_of(islice(part, 2))
            state = part.state_dict()
            verify_resume(part, [state])
    assert found == reference


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_run_goes_on_with_another_number_of_ranks(shuffle):
    with loader(shuffle=shuffle) as whole:
        reference = sorted(samples_of(whole))
    found, state = [], None
    for world_size, batches in ((2, 2), (4, 1), (1, 99)):
        ranks = [loader(shuffle=shuffle, rank=rank, world_size=world_size, batch_size=3) for rank in range(world_size)]
        for rank in ranks:
            if state is not None:
                rank.load_state_dict(state)
            found += samples_of(islice(rank, batches))
        states = [rank.state_dict() for rank in ranks]
        verify_resume(ranks[0], states)
        state = states[-1]
    assert sorted(found) == reference


def test_batches_that_were_loaded_ahead_are_not_in_the_state():
    with loader() as there:
        batches = iter(there)
        next(batches)
        assert there.state_dict()["consumed"] == 5
        next(batches)
        assert there.state_dict()["consumed"] == 10


def test_a_state_of_another_dataset_seed_or_shuffle_is_refused():
    state = loader().state_dict()
    for options, name in (({"seed": 4}, "seed"), ({"shuffle": False}, "shuffle")):
        with pytest.raises(UsageError, match=f"another order: {name} differs"):
            loader(**options).load_state_dict(state)
    other = penstock.open(packed()).select(range(COUNT - 1))
    with pytest.raises(UsageError, match="dataset differs"):
        Loader(other, batch_size=5, transforms=AUGMENT, seed=3).load_state_dict(state)


def test_epochs_follow_one_another_without_an_end_of_loading():
    with loader() as one, loader() as other:
        epochs = [samples_of(batches) for batches in one.epochs(3)]
        assert epochs == [samples_of(other) for _ in range(3)]
        assert one.epoch == 3
        assert one.statistics().samples == 3 * COUNT
        assert one.state_dict()["epoch"] == 2


def test_an_epoch_that_is_left_early_is_followed_by_the_next():
    with loader() as one, loader() as other:
        found = [
            samples_of(islice(batches, 2) if number == 1 else batches) for number, batches in enumerate(one.epochs(3))
        ]
        whole = [samples_of(other) for _ in range(3)]
    assert found == [whole[0], whole[1][:10], whole[2]]


def test_epochs_go_on_from_a_state():
    with loader() as one, loader() as other, loader() as third:
        whole = [samples_of(batches) for batches in one.epochs(2)]
        samples_of(islice(other, 4))
        third.load_state_dict(other.state_dict())
        assert [samples_of(batches) for batches in third.epochs(2)] == [whole[0][20:], whole[1]]


def test_ranks_are_taken_from_the_environment(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert loader().state_dict()["delivered"]["world_size"] == 2
    assert len(loader()) == 5
    assert len(loader(rank=0, world_size=1)) == 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drop_last": True, "pad_last": True}, "both dropped and padded"),
        ({"rank": 0}, "rank and world_size go together"),
        ({"rank": 2, "world_size": 2}, "no such rank"),
        ({"shuffle": "window", "rank": 0, "world_size": 3}, r"one of \[1, 2, 4, 8, 16\]"),
    ],
)
def test_what_cannot_be_is_refused_at_once(options, words):
    with pytest.raises(UsageError, match=words):
        loader(**options)
