"""Suites: read from TOML, strictly; ours among them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.bench.suite import beside, read
from penstock.errors import FormatError, UsageError
from tests.results.made import sweep

ROOT = Path(__file__).parent.parent.parent
GOOD = """
title = "A paper"
[data.photos]
count = 10
[[study]]
name = "workers"
layer = "epoch"
data = "photos"
peers = ["a"]
settings = { epochs = 1 }
sweep = { workers = [1, 2] }
[study.published]
source = "A paper"
unit = "images/s"
values = { "a, workers 1" = 1000, "a, workers 2" = 1900 }
"""
GOOD = GOOD.replace('["a"]', '["pytorch"]')


@pytest.fixture
def suite(tmp_path):
    def written(text):
        (tmp_path / "suite.toml").write_text(text)
        return tmp_path / "suite.toml"

    return written


def test_a_suite_is_read(suite):
    found = read(suite(GOOD))
    (study,) = found.studies
    assert (found.title, found.data["photos"]["count"]) == ("A paper", 10)
    assert (study.layer, study.peers, study.sweep["workers"]) == ("epoch", ("pytorch",), (1, 2))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("workers = [1", "wrokers = [1", "got wrokers"),
        ("epochs = 1", "epocs = 1", "got epocs"),
        ('layer = "epoch"', 'layer = "epoc"', "no such layer"),
        ('"pytorch"', '"pytroch"', "no such peer: got pytroch"),
        ('peers = ["pytorch"]', "", "no such peer: got none"),
        ('data = "photos"', 'data = "fotos"', "no such data"),
        ('name = "workers"', "", "lacks something"),
        ("unit =", "units =", "published has something unknown"),
        ("title =", "titel =", "the suite has something unknown"),
        ("[[study]]", "[[study", "not TOML"),
    ],
)
def test_whatever_is_not_known_is_refused_by_its_name(suite, old, new, said):
    with pytest.raises(FormatError, match=said):
        read(suite(GOOD.replace(old, new, 1)))


def test_no_file_no_study_and_two_of_one_name_are_refused(suite, tmp_path):
    with pytest.raises(UsageError, match="no such suite"):
        read(tmp_path / "none.toml")
    with pytest.raises(FormatError, match="no study"):
        read(suite('title = "x"'))
    with pytest.raises(FormatError, match="two studies of one name"):
        read(suite(GOOD + GOOD[GOOD.index("[[study]]") :]))


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks/suites").glob("*.toml")), ids=lambda path: path.stem)
def test_our_own_suites_are_sound_and_name_published_cells_that_they_measure(path):
    found = read(path)
    assert found.studies
    assert any(study.published for study in found.studies)
    for study in found.studies:
        assert study.published is None or study.published.source


def test_the_published_figures_stand_beside_ours_also_as_multiples(suite):
    (study,) = read(suite(GOOD)).studies
    study = replace(study, published=replace(study.published, values={"a, workers 1": 1000, "b, workers 9": 7}))
    text = beside(study, sweep({("a", 1): [50, 60, 70], ("a", 2): [120], ("a", 4): [None]}))
    assert "| a, workers 1 | 60 | 1000 | 1.00 | 1.00 |" in text
    assert "| a, workers 2 | 120 |  | 2.00 |  |" in text
    assert "| a, workers 4 | not measured |  |  |  |" in text
    assert "| b, workers 9 | not measured | 7 |  | 0.01 |" in text
    assert "published" not in beside(replace(study, published=None), sweep({("a", 1): [50]}))
