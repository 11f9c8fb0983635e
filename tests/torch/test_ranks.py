"""Two and four real processes under torchrun: each finds its rank, loads its share, and they stay in step."""

import json
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.transforms import CenterCrop
from tests.datasets import COUNT, packed

DEADLINE_SECONDS = 120  # of a run, which takes about five
LOOPBACK = "lo" if Path("/sys/class/net/lo").exists() else "lo0"
WORLD_SIZES = (2, 4)


def run_with(world_size, folder):
    """What the ranks of a run wrote down."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"]
    command = [*torchrun, "--nproc-per-node", str(world_size), "-m", "tests.distributed", str(packed()), str(folder)]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": LOOPBACK, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "error"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
        try:
            said, _ = process.communicate(timeout=DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()  # and not kill: torchrun then ends its processes
            raise
    assert process.returncode == 0, said
    return [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(world_size)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What each rank of two, and each of four, wrote down."""
    return {world_size: run_with(world_size, tmp_path_factory.mktemp("ranks")) for world_size in WORLD_SIZES}


@pytest.fixture(params=WORLD_SIZES)
def ranks(runs, request):
    return runs[request.param]


def test_each_process_finds_its_rank_in_the_environment_or_the_process_group(ranks):
    expected = [[rank, len(ranks)] for rank in range(len(ranks))]
    assert [found["ranks by environment"] for found in ranks] == expected
    assert [found["ranks by group"] for found in ranks] == expected


def test_arguments_win_over_both(ranks):
    for found in ranks:
        assert (found["ranks by arguments"], found["samples by arguments"]) == ([0, 1], COUNT)
        assert found["ranks by arguments in a group"] == [1, 2]


def test_processes_of_one_machine_share_its_cores(ranks):
    assert [found["threads"] for found in ranks] == [max(ranks[0]["cores"] // len(ranks), 1)] * len(ranks)


@pytest.mark.parametrize("shuffle", ["window", "full", "storage"])
def test_all_ranks_together_load_every_sample_once_in_each_epoch_in_equally_many_batches(ranks, shuffle):
    assert all(found[shuffle] == ranks[0][shuffle] for found in ranks)  # they were gathered
    for batches in ranks[0][shuffle]:
        assert len(batches) == 6
        assert sorted(number for batch in batches for own in batch for number in own) == list(range(COUNT))


@pytest.mark.parametrize("shuffle", ["window", "full", "storage"])
def test_global_batches_are_the_same_for_any_number_of_ranks(runs, shuffle):
    def global_batches(found):
        return [[sorted(chain.from_iterable(ranks)) for ranks in batches] for batches in found[0][shuffle]]

    two, four = map(global_batches, runs.values())
    assert two == four
    assert two[0] != two[1] or shuffle == "storage"


def test_a_validation_counts_every_sample_exactly_once(ranks):
    with penstock.Loader(packed(), batch_size=COUNT, transforms=CenterCrop(16)) as loader:
        (batch,) = loader
    for found in ranks:
        assert found["short"] == found["padded"] == [COUNT, sum(range(COUNT)), batch.labels.sum()]


def test_a_model_trains_on_any_number_of_ranks_to_the_same_weights(runs):
    weights = np.array([found["training"]["weights"] for ranks in runs.values() for found in ranks])
    assert weights.shape == (6, 52)
    np.testing.assert_allclose(weights, weights[:1].repeat(6, axis=0), atol=1e-5)
    for ranks in runs.values():
        before, after = ranks[0]["training"]["losses"]
        assert after < before - 1  # of 66: the labels are nearly noise
