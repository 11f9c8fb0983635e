"""`penstock bench`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from penstock.cli.bench import bench
from penstock.errors import UsageError
from penstock.results import read
from penstock.testing import write_photos


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench") / "photos"
    write_photos(folder, count=8, classes=1)
    return str(folder)


def run(*words):
    return CliRunner().invoke(bench, list(words), catch_exceptions=False)


def test_two_factors_make_a_heat_map_and_a_result(photos, tmp_path):
    brief = ("--set", "seconds=0.05", "--set", "images=4", "--blocks", "1")
    sweep = ("--sweep", "codec=jpeg,webp", "--sweep", "cores=1,2")
    done = run("decode", photos, *brief, *sweep, "--out", str(tmp_path / "x.json"))
    assert done.exit_code == 0, done.output
    assert "decode: samples/s by codec (down) and cores (across)" in done.stdout
    result = read(tmp_path / "x.json")
    assert [factor.levels for factor in result.factors] == [("jpeg", "webp"), (1, 2)]
    assert all(run.is_ok for run in result.runs)


def test_a_loader_is_measured_and_json_is_all_that_is_printed(photos):
    small = ("--set", "size=32", "--set", "batch-size=2", "--set", "workers=1", "--set", "batches=3")
    done = run("loader", photos, "--peers", "synthetic", "--blocks", "1", *small, "--json")
    assert done.exit_code == 0, done.output
    value = json.loads(done.stdout)
    assert (value["kind"], len(value["runs"][0]["steps"]["wait_seconds"])) == ("bench", 3)


@pytest.mark.parametrize("sweep", ["wrokers=1", "workers", "workers=", "workers=two"])
def test_a_factor_that_cannot_be_is_refused(photos, sweep):
    done = run("epoch", photos, "--sweep", sweep)
    assert done.exit_code == 2
    assert "--sweep" in done.output


def test_a_layer_that_is_none_is_refused(photos):
    with pytest.raises(UsageError, match=r"no such layer: got speed, expected one of tensor.*suite"):
        run("speed", photos)


SUITE = """
title = "A paper"
[data.few]
count = 6
classes = 1
[[study]]
name = "codecs"
layer = "decode"
data = "few"
blocks = 2
settings = { seconds = 0.05, images = 3 }
sweep = { codec = ["jpeg", "webp"] }
[study.published]
source = "A paper, table 1"
values = { "decode, codec jpeg" = 100, "decode, codec webp" = 40 }
"""


def test_a_suite_writes_results_and_a_page_and_goes_on_where_it_was(tmp_path):
    (tmp_path / "paper.toml").write_text(SUITE)
    folder = tmp_path / "results"
    done = run("suite", str(tmp_path / "paper.toml"), "--out", str(folder))
    assert done.exit_code == 0, done.output
    page = (folder / "README.md").read_text()
    assert page.startswith("# A paper\n")
    assert "Published: A paper, table 1." in page
    assert len(read(folder / "codecs.json").runs) == 4
    before = (folder / "codecs.json").stat().st_mtime_ns
    again = run("suite", str(tmp_path / "paper.toml"), "--out", str(folder))
    assert "codecs: there already" in again.stderr
    assert (folder / "codecs.json").stat().st_mtime_ns == before
