"""Checkpoints: whole or not at all, data and never code, and random generators that go on where they were."""

import os
import pickle
import random

import numpy as np
import pytest
import torch

from penstock.errors import FormatError, StorageError
from penstock.torch.training import load_checkpoint, random_state, restore_random_state, save_checkpoint

STATE = {"model": {"weight": torch.arange(6.0)}, "epoch": 3, "loader": {"epoch": 3}, "list": [1, None, "a"]}


def test_what_was_saved_is_loaded(tmp_path):
    save_checkpoint(tmp_path / "runs" / "c.pth.tar", STATE)
    found = load_checkpoint(tmp_path / "runs" / "c.pth.tar")
    assert torch.equal(found["model"].pop("weight"), STATE["model"]["weight"])
    assert found == {**STATE, "model": {}}
    assert os.listdir(tmp_path / "runs") == ["c.pth.tar"]


def test_a_save_that_fails_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "c.pth.tar"
    save_checkpoint(path, {"epoch": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        save_checkpoint(path, {"epoch": 2})
    assert load_checkpoint(path) == {"epoch": 1}


@pytest.mark.parametrize("keep", [0, 10, 500, -1])
def test_a_checkpoint_that_was_cut_short_is_named(tmp_path, keep):
    path = tmp_path / "c.pth.tar"
    save_checkpoint(path, STATE)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FormatError, match="the checkpoint cannot be read") as caught:
        load_checkpoint(path)
    assert caught.value.file == str(path)


class Evil:
    """Runs something when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("was-run",)


def test_a_checkpoint_from_elsewhere_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.pth.tar").write_bytes(pickle.dumps({"model": Evil()}, protocol=2))
    with pytest.raises(FormatError):
        load_checkpoint(tmp_path / "c.pth.tar")
    torch.save({"model": Evil()}, tmp_path / "d.pth.tar")
    with pytest.raises(FormatError):
        load_checkpoint(tmp_path / "d.pth.tar")
    assert not (tmp_path / "was-run").exists()


def drawn() -> list[float]:
    """Draw from every generator."""
    of_numpy = float(np.random.rand())  # noqa: NPY002  what others' transforms draw from
    return [random.random(), random.gauss(0, 1), of_numpy, float(torch.rand(()))]


def test_generators_go_on_where_they_were_through_a_file(tmp_path):
    random.gauss(0, 1)  # it keeps a second value for the next call
    save_checkpoint(tmp_path / "r.pth.tar", random_state())
    expected = drawn()
    drawn()
    restore_random_state(load_checkpoint(tmp_path / "r.pth.tar"))
    assert drawn() == expected
