"""The page."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser

import pytest

from penstock.report import page
from penstock.results import from_json, to_json
from tests.bench.results import result as former


def result(rates):
    return from_json(former(rates))


VOID = {"meta", "br", "i"}


class Balance(HTMLParser):
    """Notes elements that are not closed in turn, and everything that would be fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched = [], []

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in {"src", "href", "srcset", "data"}]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def race():
    rates = {"penstock": [300, 310, 305], "torchvision": [100, 101, 99], "ffcv": [150, None, 149], "dali": [None] * 3}
    return result(rates)


def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(race):
    reader = Balance()
    text = page(race)
    reader.feed(text)
    assert reader.open == []
    assert all(address.startswith("data:") for address in reader.fetched)
    assert not re.search(r"@import|url\(|<script", text)


def test_the_page_holds_the_raw_result(race):
    link = re.search(r"base64,([A-Za-z0-9+/=]+)", page(race)).group(1)
    assert json.loads(base64.b64decode(link)) == json.loads(json.dumps(to_json(race)))


def test_the_page_shows_every_peer_its_ratio_and_what_failed(race):
    text = page(race, against="torchvision")
    assert "The penstock loader" in text
    assert "3.07x" in text
    assert "as documented &lt;fast &amp; plain&gt;" in text
    assert "no such library" in text


def test_a_race_in_which_nothing_succeeded_still_makes_a_page():
    text = page(result({"a": [None], "b": [None]}))
    assert "did not finish" in text
    assert "What failed" in text


def test_one_round_makes_a_page_too():
    assert "2.00x" in page(result({"penstock": [2.0], "a": [1.0]}))
