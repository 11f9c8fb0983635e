"""The journal: pieces survive, other work does not mix in, a dead writer's lock is gone."""

import os
import subprocess
import sys

import pytest

from penstock.errors import UsageError
from penstock.storage.journal import Journal


def test_pieces_are_found_by_the_next_process(tmp_path):
    with Journal(str(tmp_path / "j")) as journal:
        assert journal.plan is None
        journal.begin(b"plan")
        journal.add(0, b"first")
        journal.add(1, b"second")
    with Journal(str(tmp_path / "j")) as journal:
        assert journal.plan == b"plan"
        assert journal.pieces() == [b"first", b"second"]


def test_pieces_behind_a_gap_do_not_count(tmp_path):
    with Journal(str(tmp_path / "j")) as journal:
        journal.begin(b"plan")
        journal.add(1, b"second")
        assert journal.pieces() == []


def test_new_work_forgets_the_old(tmp_path):
    with Journal(str(tmp_path / "j")) as journal:
        journal.begin(b"plan")
        journal.add(0, b"first")
        journal.begin(b"other")
        assert (journal.plan, journal.pieces()) == (b"other", [])


def test_finished_work_leaves_nothing(tmp_path):
    with Journal(str(tmp_path / "j")) as journal:
        journal.begin(b"plan")
        journal.add(0, b"first")
        journal.remove()
    assert os.listdir(tmp_path) == []


def test_a_second_writer_is_refused_while_the_first_lives(tmp_path):
    code = (
        "import sys; from penstock.storage.journal import Journal; j = Journal(sys.argv[1]); print(flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "j")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        first.stdout.readline()
        with pytest.raises(UsageError, match="another process"):
            Journal(str(tmp_path / "j"))
        first.kill()
    Journal(str(tmp_path / "j")).close()
