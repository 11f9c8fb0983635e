"""Ranks come from the arguments or from the environment, both numbers or none."""

import pytest

from penstock.errors import UsageError
from penstock.pipeline.ranks import local_ranks, rank_of


@pytest.fixture
def environment(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


def test_a_process_alone_is_the_only_rank(environment):
    assert rank_of(None, None) == (0, 1)
    assert local_ranks() == 1


def test_torchruns_environment_counts_unless_arguments_say_otherwise(environment):
    for name, value in (("RANK", "3"), ("WORLD_SIZE", "8"), ("LOCAL_WORLD_SIZE", "4")):
        environment(name, value)
    assert rank_of(None, None) == (3, 8)
    assert rank_of(0, 1) == (0, 1)
    assert local_ranks() == 4


def test_half_of_it_is_refused(environment):
    with pytest.raises(UsageError, match="rank=1, world_size=None"):
        rank_of(1, None)


def test_an_environment_that_makes_no_sense_is_refused(environment):
    environment("RANK", "first")
    environment("WORLD_SIZE", "2")
    with pytest.raises(UsageError, match="environment variable RANK: got 'first'"):
        rank_of(None, None)
