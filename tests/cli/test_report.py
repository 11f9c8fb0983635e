"""`penstock report`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from penstock.cli.report import report
from penstock.errors import FormatError, UsageError
from penstock.results import write
from tests.bench.results import result
from tests.report.made import race


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


@pytest.fixture
def measured(tmp_path):
    for name, seed in (("before", 3), ("after", 4)):
        write(race(seed=seed), tmp_path / f"{name}.json")
    return [str(tmp_path / "before.json"), str(tmp_path / "after.json")]


def test_several_results_stand_side_by_side_under_the_names_of_their_files(measured, tmp_path):
    done = CliRunner().invoke(report, [*measured, "--html", str(tmp_path / "page.html"), "--against", "torchvision"])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("Loaders side by side: photos") == 2
    assert "penstock, packed · after" in (tmp_path / "page.html").read_text()


def test_markdown_goes_to_a_file_or_is_all_that_is_said(measured, tmp_path):
    said = CliRunner().invoke(report, [measured[0], "--markdown", "-"]).stdout
    assert said.startswith("### Loaders side by side: photos\n")
    CliRunner().invoke(report, [measured[0], "--markdown", str(tmp_path / "race.md")])
    assert (tmp_path / "race.md").read_text() == said


def test_plots_become_files(measured, tmp_path):
    folders = [str(tmp_path / "svg"), str(tmp_path / "png")]
    done = CliRunner().invoke(report, [measured[0], "--svg", folders[0], "--png", folders[1]])
    assert done.exit_code == 0, done.output
    made = sorted(path.name for path in (tmp_path / "svg").iterdir())
    assert made == sorted(f"{path.stem}.svg" for path in (tmp_path / "png").iterdir())
    assert "ratios.svg" in made


def test_json_of_several_results_is_a_list(measured):
    said = json.loads(CliRunner().invoke(report, [*measured, "--json"]).stdout)
    assert [len(one["standings"]) for one in said] == [4, 4]


def test_what_nobody_has_cannot_be_compared_with(measured):
    with pytest.raises(UsageError, match="nothing of this name to compare with"):
        CliRunner().invoke(report, [*measured, "--against", "nobody"], catch_exceptions=False)


def test_one_result_is_exported_at_a_time(measured):
    with pytest.raises(UsageError, match="one result"):
        CliRunner().invoke(report, [*measured, "--export", "x.csv"], catch_exceptions=False)
