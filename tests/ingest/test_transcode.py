"""Transcoding: in the order given, a bounded amount ahead, and never more than what was asked."""

import itertools

import pytest

from penstock.errors import UsageError
from penstock.ingest import open_source
from penstock.ingest.reencode import fitted
from penstock.ingest.transcode import Recipe, transcoded
from tests import folders


def test_results_come_in_the_order_given(tmp_path):
    source = open_source(str(folders.classes(tmp_path / "photos", 20)))
    order = list(range(19, -1, -1))
    found = [item.sample.key for item in transcoded(source, order, Recipe(keep_bytes=True), 3)]
    assert found == [source.keys[position] for position in order]


def test_stopping_early_ends_the_threads_and_reads_no_more(tmp_path, monkeypatch):
    source = open_source(str(folders.classes(tmp_path / "photos", 100)))
    read = []
    original = __import__("penstock.ingest.transcode", fromlist=["read_file"]).read_file
    monkeypatch.setattr("penstock.ingest.transcode.read_file", lambda path: read.append(path) or original(path))
    stream = transcoded(source, range(100), Recipe(keep_bytes=True), 1)
    list(itertools.islice(stream, 3))
    stream.close()
    assert len(read) < 60


def test_sizes_shrink_to_the_longest_side_and_never_below_a_pixel():
    assert fitted(400, 300, 200) == (200, 150)
    assert fitted(300, 400, 200) == (150, 200)
    assert fitted(100, 100, 200) == (100, 100)
    assert fitted(100, 100, None) == (100, 100)
    assert fitted(10_000, 1, 10) == (10, 1)


def test_recipes_that_contradict_themselves_are_refused():
    for options in ({"keep_bytes": True, "max_side": 5}, {"raw": True, "quality": 90}, {"quality": 0}):
        with pytest.raises(UsageError):
            Recipe(**options)
