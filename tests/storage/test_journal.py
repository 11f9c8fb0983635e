"""The journal: pieces survive, other work does not mix in, a dead writer's lock is gone."""

import os
import subprocess
import sys

import pytest

from penstock.errors import StorageError, UsageError
from penstock.storage.journal import Journal, foreign_names, is_unfinished
from penstock.storage.local_place import LocalPlace


def test_pieces_are_found_by_the_next_process(tmp_path):
    with Journal(LocalPlace(str(tmp_path))) as journal:
        assert journal.plan is None
        journal.begin(b"plan")
        journal.add(0, b"first")
        journal.add(1, b"second")
    with Journal(LocalPlace(str(tmp_path))) as journal:
        assert journal.plan == b"plan"
        assert journal.pieces() == [b"first", b"second"]


def test_pieces_behind_a_gap_do_not_count(tmp_path):
    with Journal(LocalPlace(str(tmp_path))) as journal:
        journal.begin(b"plan")
        journal.add(1, b"second")
        assert journal.pieces() == []


def test_new_work_forgets_the_old(tmp_path):
    with Journal(LocalPlace(str(tmp_path))) as journal:
        journal.begin(b"plan")
        journal.add(0, b"first")
        journal.begin(b"other")
        assert (journal.plan, journal.pieces()) == (b"other", [])


def test_finished_work_leaves_nothing(tmp_path):
    with Journal(LocalPlace(str(tmp_path))) as journal:
        journal.begin(b"plan")
        journal.add(0, b"first")
        journal.remove()
    assert os.listdir(tmp_path) == []


def test_only_its_own_files_are_ever_removed(tmp_path):
    with Journal(LocalPlace(str(tmp_path))) as journal:
        journal.begin(b"plan")
        journal.add(0, b"first")
        (tmp_path / "packing" / "mine.jpg").write_bytes(b"mine")
        journal.begin(b"other")
        with pytest.raises(StorageError, match="not empty"):
            journal.remove()
    assert os.listdir(tmp_path / "packing") == ["mine.jpg"]
    assert foreign_names(LocalPlace(str(tmp_path))) == ["mine.jpg"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["packing/lock"], True),
        (["packing/lock", "packing/plan.partial", "shards/000000.tar"], True),
        (["packing/plan", "packing/000000", "packing/000001.partial", "packing/000002.tar"], True),
        (["packing/lock", "packing/mine.jpg"], False),
        (["packing/000001.jpg"], False),
        (["packing/plan/lock"], False),
        (["packing"], False),
        (["other"], False),
    ],
)
def test_work_is_unfinished_where_a_folder_holds_a_journal_and_nothing_else(tmp_path, names, expected):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert is_unfinished(LocalPlace(str(tmp_path))) == expected


def test_an_empty_journal_counts_only_where_it_is_alone(tmp_path):
    (tmp_path / "packing").mkdir()
    assert is_unfinished(LocalPlace(str(tmp_path)))
    (tmp_path / "c0").mkdir()
    assert not is_unfinished(LocalPlace(str(tmp_path)))


def test_a_second_writer_is_refused_while_the_first_lives(tmp_path):
    code = (
        "import sys\n"
        "from penstock.storage.journal import Journal\n"
        "from penstock.storage.local_place import LocalPlace\n"
        "j = Journal(LocalPlace(sys.argv[1])); print(flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        first.stdout.readline()
        with pytest.raises(UsageError, match="another process"):
            Journal(LocalPlace(str(tmp_path)))
        first.kill()
    Journal(LocalPlace(str(tmp_path))).close()
