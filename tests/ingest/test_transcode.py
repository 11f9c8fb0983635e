"""Transcoding: in the order given, a bounded amount ahead, and never more than what was asked."""

import itertools

from penstock.ingest.kinds import open_source
from penstock.ingest.recipe import Recipe
from penstock.ingest.transcode import transcoded
from tests import folders


def test_results_come_in_the_order_given(tmp_path):
    source = open_source(str(folders.classes(tmp_path / "photos", 20)))
    order = list(range(19, -1, -1))
    found = [item.sample.key for item in transcoded(source, order, Recipe(keep_bytes=True), 3)]
    assert found == [source.keys[position] for position in order]


def test_stopping_early_ends_the_threads_and_reads_no_more(tmp_path, monkeypatch):
    source = open_source(str(folders.classes(tmp_path / "photos", 100)))
    read = []
    original = __import__("penstock.ingest.items", fromlist=["read_file"]).read_file
    monkeypatch.setattr("penstock.ingest.items.read_file", lambda path: read.append(path) or original(path))
    stream = transcoded(source, range(100), Recipe(keep_bytes=True), 1)
    list(itertools.islice(stream, 3))
    stream.close()
    assert len(read) < 60
