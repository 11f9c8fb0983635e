"""Keys: unique, reversible, and safe for WebDataset."""

import os
import re

from hypothesis import given
from hypothesis import strategies as st

from penstock.shard.keys import escape, split_name, unescape, unique_keys

# File names as Linux has them: any bytes but "/" and NUL.
part = (
    st.binary(min_size=1, max_size=12)
    .map(lambda raw: raw.replace(b"/", b"_").replace(b"\0", b"%"))
    .filter(lambda raw: raw not in {b".", b".."})
)
paths = st.lists(part, min_size=1, max_size=3).map(lambda parts: os.fsdecode(b"/".join(parts)))
likely = st.lists(st.sampled_from(["a", "b", "a.b", "a%2Eb", "a.jpg", "b.png"]), min_size=1, max_size=2).map("/".join)
names = st.lists(
    st.builds(str.__add__, paths | likely, st.sampled_from([".jpg", ".png", ""])), unique=True, max_size=12
)


@given(names)
def test_a_key_and_its_suffix_give_the_path_back(paths):
    keys, suffixes = unique_keys(paths)
    assert [unescape(key) + suffix for key, suffix in zip(keys, suffixes, strict=True)] == paths


@given(names)
def test_no_two_paths_share_a_key(paths):
    keys, _ = unique_keys(paths)
    assert len(set(keys)) == len(paths)


@given(paths)
def test_webdataset_finds_the_whole_key_before_the_first_dot(path):
    (key,), _ = unique_keys([path])
    assert re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", f"{key}.jpg")[1] == key
    assert not re.match(r"__[^/]*__($|/)", f"{key}.jpg")
    key.encode("utf-8")  # no lone surrogates


@given(paths)
def test_escaping_a_path_can_be_undone(path):
    assert unescape(escape(path)) == path
    escape(path).encode("utf-8")


def test_ordinary_names_stay_as_they_are():
    assert unique_keys(["n01440764/n01440764_10026.JPEG"]) == (["n01440764/n01440764_10026"], [".JPEG"])


def test_names_that_share_a_stem_keep_their_suffix():
    keys, suffixes = unique_keys(["a.jpg", "a.png", "a.jpg.jpg", "b.jpg"])
    assert keys == ["a%2Ejpg", "a%2Epng", "a%2Ejpg%2Ejpg", "b"]
    assert suffixes == ["", "", "", ".jpg"]


def test_a_folder_that_webdataset_passes_over_is_escaped():
    assert unique_keys(["__meta__/a.jpg"])[0] == ["%5F_meta__/a"]


def test_a_leading_dot_makes_no_suffix():
    assert split_name("a/.jpg") == ("a/.jpg", "")
    assert split_name("a.b/c") == ("a.b/c", "")
