"""Ranks: leaving, which is all of them that one process can show; the rest is in the tests of the trainers."""

import subprocess
import sys

import pytest

CODE = """
import atexit, os, sys
from penstock.torch.training import leave
atexit.register(print, "tidied up")
print("done")
leave(3)
"""


@pytest.mark.parametrize(("ranks", "said"), [("1", "done\ntidied up\n"), ("2", "done\n")])
def test_one_of_several_ranks_leaves_at_once_with_its_code_and_all_that_it_said(monkeypatch, ranks, said):
    monkeypatch.setenv("WORLD_SIZE", ranks)
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, said)
