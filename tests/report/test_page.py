"""The page, as text; what a browser makes of it is in test_page_in_browser.py."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser

import pytest

from penstock.report import page
from penstock.results import from_json, to_json
from penstock.results.imported import read_foreign
from tests.bench.results import result as former
from tests.report.made import race
from tests.results.made import race as rates

VOID = {"meta", "br"}


class Balance(HTMLParser):
    """Notes elements that are not closed in turn, ids, and everything that would be fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.ids, self.points_to = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        for name, value in attrs:
            if name in {"src", "srcset", "data", "href"}:
                self.fetched.append(value)
            if name == "id":
                self.ids.append(value)
            if name == "aria-labelledby":
                self.points_to.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(text):
    reader = Balance()
    reader.feed(text)
    return reader


@pytest.fixture(scope="module")
def text():
    return page(race(), against="torchvision")


def test_it_is_well_formed_and_needs_nothing_from_elsewhere(text):
    reader = read(text)
    assert reader.open == []
    assert all(address.startswith(("data:", "#")) for address in reader.fetched)
    assert not re.search(r"@import|url\(", text)
    assert "default-src 'none'" in text


def test_ids_are_there_once_and_labels_point_to_them(text):
    reader = read(text)
    assert len(set(reader.ids)) == len(reader.ids)
    assert set(reader.points_to) <= set(reader.ids)
    assert {address[1:] for address in reader.fetched if address.startswith("#")} <= set(reader.ids)


def test_verdict_comes_first_and_words_of_others_stay_words(text):
    sections = re.findall(r'<section id="(\w+)"', text)
    assert sections == ["verdict", "numbers", "doubts", "plots", "method", "machine", "data"]
    assert "5.73x" in text
    assert "as documented &lt;fast &amp; plain&gt;" in text
    assert "killed after &lt;600&gt; s" in text


def test_the_data_are_inside_whole(text):
    links = re.findall(r'download="([^"]+)" href="data:[^"]*base64,([^"]+)"', text)
    found = {name: base64.b64decode(data).decode() for name, data in links}
    assert from_json(json.loads(found["result.json"])) == from_json(to_json(race()))
    assert found["runs.csv"].count("\n") == 1 + len(race().runs)


def test_results_of_the_first_months_have_pages_with_what_they_measured():
    text = page(from_json(former({"penstock": [300, 310, 305], "torchvision": [100, 101, 99], "dali": [None] * 3})))
    assert "3.07x" in text
    assert "dali: 3 of 3 runs did not succeed" in text
    assert "no such library" in text
    assert 'id="waits"' not in text


def test_a_result_in_which_nothing_succeeded_still_makes_a_page():
    text = page(rates({"a": [None], "b": [None]}))
    assert "nothing measured" in text
    assert "What failed" in text
    assert "Nothing was measured that could be drawn." in text


def test_several_results_stand_side_by_side():
    text = page(race(), race(seed=8), names=["before", "after"], against="torchvision")
    assert "2 results side by side" in text
    assert read(text).open == []
    assert re.findall(r'download="([^"]+)"', text) == ["result-1.json", "result-2.json", "runs.csv"]


def test_a_stream_of_another_tool_plots_beside_a_new_result(tmp_path):
    lines = [(["P"], {"arch": "resnet50", "batch_size": 256, "workers": 4, "data_loader": "dali-cpu"})]
    lines += [(["T", 0, step], {"t.data_time": 0.5, "t.iteration_time": 1.0}) for step in range(5)]
    said = [json.dumps({"type": "LOG", "step": step, "data": data}) for step, data in lines]
    (tmp_path / "old.json").write_text("".join(f"DLLL {line}\n" for line in said))
    imported = read_foreign(tmp_path / "old.json")
    text = page(imported, race(), names=["old", "new"])
    assert read(text).open == []
    rows = re.findall(r'class="point bar-row"[^>]*data-value="([\d.]+)" data-name="([^"]+)"', text)
    shown = {name: float(value) for value, name in rows}
    assert shown["dali-cpu, (DL)² · old"] == 256
    assert "penstock, packed · new" in shown
    assert "Every run is a process of its own" in text
    assert text.count("Every run is a process of its own") == 1  # the imported one's were not
