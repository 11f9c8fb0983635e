"""Places to write into: a folder and an object store keep the same promises, and the journal works in both."""

import hashlib

import pytest

from penstock.errors import UsageError
from penstock.storage.journal import Journal, foreign_names, is_unfinished
from penstock.storage.local_place import LocalPlace
from penstock.storage.where import place_at
from tests import objects


@pytest.fixture(params=["folder", "objects"])
def place(request, tmp_path):
    if request.param == "folder":
        return LocalPlace(str(tmp_path / "p"))
    server = request.getfixturevalue("seaweedfs")
    return place_at(f"s3://{server.bucket}/places/{request.node.name}/p", objects.access(server, tmp_path))


def test_a_place_is_empty_until_something_is_written(place):
    assert place.is_empty()
    assert (place.size("a"), place.read("a"), place.files("b")) == (None, None, None)
    place.make_folder("b")
    place.write("b/a", b"one")
    assert not place.is_empty()
    assert (place.size("b/a"), place.read("b/a"), place.files("b")) == (3, b"one", {"a": 3})


def test_what_is_written_again_is_replaced_and_what_is_removed_is_gone(place):
    place.make_folder("")
    place.write("a", b"one")
    place.write("a", memoryview(b"three"))
    assert place.read("a") == b"three"
    place.remove(["a", "never there"])
    assert place.read("a") is None


def test_what_is_no_plain_file_has_a_name_that_no_file_has(place):
    place.make_folder("b/c")
    place.write("b/c/d", b"")
    (name,) = place.files("b")
    assert name.startswith("c/")


def test_what_grows_is_there_only_when_it_is_finished(place):
    place.make_folder("aside")
    growing = place.grow("a", "aside/a")
    growing.append(b"one")
    growing.append(b"two")
    assert (growing.bytes, growing.sha256) == (6, hashlib.sha256(b"onetwo").hexdigest())
    assert place.size("a") is None
    growing.finish()
    assert place.read("a") == b"onetwo"
    dropped = place.grow("b", "aside/b")
    dropped.append(b"one")
    dropped.discard()
    assert place.size("b") is None


def test_a_journal_is_found_by_the_next_and_leaves_nothing(place):
    with Journal(place) as journal:
        assert is_unfinished(place)
        journal.begin(b"plan")
        journal.add(0, b"first")
        journal.add(2, b"behind a gap")
    with Journal(place) as journal:
        assert (journal.plan, journal.pieces()) == (b"plan", [b"first"])
        journal.begin(b"other")
        assert (journal.plan, journal.pieces()) == (b"other", [])
        journal.remove()
    assert place.is_empty()


def test_whoever_has_lost_its_plan_adds_nothing(place):
    with Journal(place) as journal:
        journal.begin(b"plan")
        place.write("packing/plan", b"other")
        with pytest.raises(UsageError, match="another process has begun"):
            journal.add(0, b"first")
        assert journal.pieces() == []
        with pytest.raises(UsageError, match="another process has begun"):
            journal.take(b"plan")


def test_what_no_journal_wrote_is_foreign_and_stays(place):
    with Journal(place) as journal:
        journal.begin(b"plan")
        place.write("packing/mine.jpg", b"mine")
        assert foreign_names(place) == ["mine.jpg"]
        assert not is_unfinished(place)
        journal.begin(b"other")
    assert place.read("packing/mine.jpg") == b"mine"
