"""Samples of one key: named, or the first of each kept."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.ingest.duplicates import keys_of, one_of_each
from penstock.ingest.kinds import open_source
from penstock.shard.keys import unique_keys
from tests import folders


@given(st.lists(st.sampled_from(["a.jpg", "a.png", "b/a.jpg", "b.c/d", "a", "%", "a%2Ejpg"]), max_size=12))
def test_a_path_has_the_key_that_it_has_among_different_ones_however_often(paths):
    keys, suffixes = keys_of(paths)
    alone = dict(zip(dict.fromkeys(paths), zip(*unique_keys(list(dict.fromkeys(paths))), strict=True), strict=True))
    assert list(zip(keys, suffixes, strict=True)) == [alone[path] for path in paths]
    assert len(set(keys)) == len(set(paths))


def source(tmp_path, lines):
    folders.write(tmp_path, {f"{name}.jpg": folders.jpeg(number) for number, name in enumerate("abcdef")})
    (tmp_path / "list.txt").write_text("\n".join(f"{name}.jpg,{label}" for name, label in lines))
    return open_source(str(tmp_path / "list.txt"))


def test_a_source_without_duplicates_is_itself(tmp_path):
    found = source(tmp_path, [("a", 0), ("b", 1)])
    assert one_of_each(found) is found
    assert one_of_each(found, remove_duplicates=True) is found


def test_the_first_of_each_is_kept_with_its_label(tmp_path):
    listed = source(tmp_path, [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5), ("b", 6)])
    found = one_of_each(listed, remove_duplicates=True)
    items = found.fields["image"]
    assert (found.keys, found.label_values()) == (["b", "a", "c"], {"label": [1, 2, 4]})
    assert [items.read(position) for position in range(3)] == [[folders.jpeg(1)], [folders.jpeg(0)], [folders.jpeg(2)]]
    assert [items.name(position) for position in range(3)] == ["b.jpg", "a.jpg", "c.jpg"]
    assert (items.sizes.tolist(), items.suffixes) == ([len(folders.jpeg(n)) for n in (1, 0, 2)], [".jpg"] * 3)
    assert (items.is_far, found.bytes) == (False, int(items.sizes.sum()))
    assert found.digest() != listed.digest()
    assert pickle.loads(pickle.dumps(found)).digest() == found.digest()


def test_those_that_have_several_are_named_up_to_a_number(tmp_path):
    lines = [(name, 0) for name in "abcdeabcdea"]
    with pytest.raises(SourceError) as caught:
        one_of_each(source(tmp_path, lines))
    assert "5 keys have several samples: got a (3 times), b (2 times), c (2 times) and 2 more" in str(caught.value)
    assert "--remove-duplicates" in str(caught.value)
