"""kill -9 while training, with real processes, one per rank: the run goes on with exactly the samples that remain.

A run is killed at random moments and goes on, each time with other threads, memory, batch size and number of ranks,
from the newest checkpoint that all of its ranks have saved. What it did after that checkpoint is lost, as its model's
weights would be. All that counts must be, byte for byte, what a run has that nobody disturbs.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

import penstock
from penstock.errors import UsageError
from tests.datasets import COUNT, packed
from tests.training import EPOCHS, STEPS_PER_CHECKPOINT, Part

DEADLINE_SECONDS = 60  # of a part, which takes about one
WINDOWS = {"lanes": 4, "window_bytes": 40_000, "block_bytes": 8_000}
SHUFFLES = ["full", WINDOWS, False]

ALONE = [
    {"batch_size": 5},
    {"batch_size": 3, "threads": 2, "memory": 30_000_000, "sets_epochs": True},
    {"batch_size": 7, "threads": 0},
    {"batch_size": 2, "memory": 10_000_000, "pads_last": True},
    {"batch_size": 4, "threads": 2},
]
TOGETHER = [  # batch sizes with which a part begins where the ranks before it would not have
    {"world_size": 2, "batch_size": 3},
    {"world_size": 1, "batch_size": 5, "threads": 2, "sets_epochs": True},
    {"world_size": 4, "batch_size": 1, "threads": 0, "memory": 30_000_000, "pads_last": True},
    {"world_size": 2, "batch_size": 4, "memory": 10_000_000},
]
WITH_TENSORS = [
    {"batch_size": 5, "uses_torch": True},
    {"batch_size": 4, "threads": 2},
    {"batch_size": 3, "memory": 30_000_000, "sets_epochs": True},
    {"batch_size": 6, "uses_torch": True},
]


def errors_of(part, rank):
    return Path(part.folder, f"errors.{rank}").read_text()


@contextmanager
def started(part):
    """The processes of a part, one per rank. None of them outlives it, nor the time that it has."""
    Path(part.folder).mkdir()
    ranks = []

    def kill():
        for process in ranks:
            process.kill()

    timer = threading.Timer(DEADLINE_SECONDS, kill)
    timer.start()
    with ExitStack() as opened:
        try:
            for rank in range(part.world_size):
                environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(part.world_size)}
                command = [sys.executable, "-W", "error", "-m", "tests.training", json.dumps(asdict(part))]
                errors = opened.enter_context(open(Path(part.folder, f"errors.{rank}"), "w"))
                pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
                ranks.append(opened.enter_context(subprocess.Popen(command, env=environment, text=True, **pipes)))
            yield ranks
        finally:
            timer.cancel()
            kill()


def kill_in(part, *, step, granted):
    """Let a part take so many steps, and kill its processes when the last of them has come to a step."""
    with started(part) as ranks:
        for process in ranks:
            process.stdin.write("\n" * granted)
            process.stdin.flush()
        for rank, process in enumerate(ranks):
            for number in range(1, step + 1):
                said = process.stdout.readline()
                assert said == f"{number}\n", f"rank {rank} did not come to step {number}: {errors_of(part, rank)}"
        for process in ranks:
            os.kill(process.pid, signal.SIGKILL)
        assert [process.wait() for process in ranks] == [-signal.SIGKILL] * part.world_size


def finish(part):
    """Let a part come to the end of the run."""
    with started(part) as ranks:
        for process in ranks:
            process.stdin.close()
        for rank, process in enumerate(ranks):
            process.stdout.read()
            assert (process.wait(), errors_of(part, rank)) == (0, ""), f"rank {rank} did not come to its end"


def newest_checkpoint(part):
    """The newest step that all ranks of a part have saved, and their states; if there is none, what it began with.

    Older ones, from which nobody goes on, are receipts, too.
    """
    saved = Counter(int(path.name.partition(".")[0]) for path in Path(part.folder).glob("*.json"))
    found = {0: part.states}
    with part.loader() as loader:
        for step in sorted(step for step, ranks in saved.items() if ranks == part.world_size):
            files = [Path(part.folder, f"{step}.{rank}.json") for rank in range(part.world_size)]
            found[step] = tuple(json.loads(file.read_text()) for file in files)
            penstock.verify_resume(loader, found[step])
    return max(found.items())


def samples_in(part, steps=None):
    """What each rank of a part was given in its first steps: epoch, number and digest of the pixels of each sample."""
    logs = [Path(part.folder, f"log.{rank}").read_text().splitlines()[:steps] for rank in range(part.world_size)]
    assert steps is None or {len(log) for log in logs} == {steps}
    return [tuple(sample) for log in logs for line in log for sample in json.loads(line)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a run of one process has from its beginning to its end, for each shuffle."""
    folder, known = tmp_path_factory.mktemp("undisturbed"), {}

    def found(shuffle):
        name = str(SHUFFLES.index(shuffle))
        if name not in known:
            part = Part(str(packed()), shuffle, str(folder / name), batch_size=8)
            finish(part)
            known[name] = samples_in(part)
        return known[name]

    return found


def killed_again_and_again(folder, shuffle, settings, *, seed):
    """Go through a run of which every part but the last is killed at a random moment; the samples that count."""
    chance, found, states, places = random.Random(seed), [], (), []
    for number, changes in enumerate(settings[:-1]):
        part = Part(str(packed()), shuffle, str(folder / str(number)), states, **changes)
        steps = (EPOCHS * COUNT - len(found)) // (part.world_size * part.batch_size)  # to the end of the run, at least
        step = chance.randint(STEPS_PER_CHECKPOINT, max(steps // 2, STEPS_PER_CHECKPOINT))
        kill_in(part, step=step, granted=min(step + chance.randint(0, STEPS_PER_CHECKPOINT), steps - 1))
        saved, states = newest_checkpoint(part)
        found += samples_in(part, saved)
        places.append((states[0]["epoch"], states[0]["consumed"]))
    assert len(set(places)) == len(settings) - 1 >= 3  # it went on from so many places
    last = Part(str(packed()), shuffle, str(folder / "last"), states, **settings[-1])
    finish(last)
    return found + samples_in(last)


def test_an_undisturbed_run_has_every_sample_once_in_each_epoch(undisturbed):
    for shuffle in SHUFFLES:
        numbers = sorted((epoch, number) for epoch, number, _ in undisturbed(shuffle))
        assert numbers == [(epoch, number) for epoch in range(EPOCHS) for number in range(COUNT)]


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_process_killed_again_and_again_has_the_samples_of_one_that_was_not_in_their_order(
    shuffle, undisturbed, tmp_path
):
    found = killed_again_and_again(tmp_path, shuffle, ALONE, seed=1)
    assert found == undisturbed(shuffle)


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_ranks_killed_again_and_again_and_then_more_or_fewer_of_them_have_the_same_samples(
    shuffle, undisturbed, tmp_path
):
    found = killed_again_and_again(tmp_path, shuffle, TOGETHER, seed=2)
    assert sorted(found) == sorted(undisturbed(shuffle))


def test_tensors_go_on_where_arrays_were_and_the_other_way_round(undisturbed, tmp_path):
    found = killed_again_and_again(tmp_path, WINDOWS, WITH_TENSORS, seed=3)
    assert found == undisturbed(WINDOWS)


def test_a_part_killed_before_its_first_checkpoint_is_done_again(undisturbed, tmp_path):
    parts, states = [], ()
    for number, step in enumerate((1, 4, 1)):
        parts.append(Part(str(packed()), "full", str(tmp_path / str(number)), states))
        kill_in(parts[-1], step=step, granted=step)
        saved, states = newest_checkpoint(parts[-1])
        assert saved == (3 if step == 4 else 0)
    last = Part(str(packed()), "full", str(tmp_path / "last"), states)
    finish(last)
    assert samples_in(parts[1], 3) + samples_in(last) == undisturbed("full")


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_state_that_was_tampered_with_is_refused(shuffle, tmp_path):
    part = Part(str(packed()), shuffle, str(tmp_path / "part"), world_size=2)
    kill_in(part, step=4, granted=4)
    saved, (first, second) = newest_checkpoint(part)
    assert (saved, second["consumed"]) == (3, 30)
    with part.loader() as loader:
        penstock.verify_resume(loader, [first, second])
        penstock.verify_resume(loader, [second])
        for change in (
            {"epoch": 1},
            {"consumed": 20},
            {"since": 10},
            {"rank": 0},
            {"digest": first["delivered"]["digest"]},
        ):
            with pytest.raises(UsageError, match="delivered other samples than its order has"):
                penstock.verify_resume(loader, [tampered(second, change)])
        with pytest.raises(UsageError, match="not of one moment"):
            penstock.verify_resume(loader, [first, tampered(second, {"consumed": 20})])
        with pytest.raises(UsageError, match="seed differs"):
            penstock.verify_resume(loader, [tampered(second, {"order": {**second["order"], "seed": 4}})])


def tampered(state, change):
    delivered = {name: change.get(name, value) for name, value in state["delivered"].items()}
    return {**{name: change.get(name, value) for name, value in state.items()}, "delivered": delivered}
