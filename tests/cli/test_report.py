"""`penstock report`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from penstock.cli.report import report
from penstock.errors import FormatError
from tests.bench.results import result


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "race.json"
    path.write_text(json.dumps(result({"penstock": [3, 3, 3], "a": [1, 1, 1]})))
    return path


def test_a_stored_result_becomes_a_table_and_a_page(stored, tmp_path):
    done = CliRunner().invoke(report, [str(stored), "--html", str(tmp_path / "page.html")])
    assert "3.00" in done.stdout
    assert "3.00x" in (tmp_path / "page.html").read_text()


def test_json_has_standings_and_ratios(stored):
    said = json.loads(CliRunner().invoke(report, [str(stored), "--json"]).stdout)
    assert [standing["cell"] for standing in said["standings"]] == ["penstock", "a"]
    assert said["comparisons"][0]["middle"] == 3


def test_what_is_no_result_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("no")
    with pytest.raises(FormatError, match="not JSON"):
        CliRunner().invoke(report, [str(tmp_path / "x.json")], catch_exceptions=False)


@pytest.mark.parametrize("lacking", ["peers", "runs", "rounds", "prepared", "everything"])
def test_a_result_that_lacks_something_is_refused_and_nothing_written(tmp_path, monkeypatch, lacking):
    monkeypatch.chdir(tmp_path)
    whole = result({"penstock": [3, 3, 3], "a": [1, 1, 1]})
    if lacking == "everything":
        whole = {"format": 1, "kind": "race"}
    else:
        del whole[lacking]
    (tmp_path / "x.json").write_text(json.dumps(whole))
    with pytest.raises(FormatError, match=r"the result lacks something(.|\n)*x\.json"):
        CliRunner().invoke(report, ["x.json", "--html", "page.html"], catch_exceptions=False)
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_json_that_is_no_object_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(FormatError, match="not a result"):
        CliRunner().invoke(report, [str(tmp_path / "x.json")], catch_exceptions=False)
