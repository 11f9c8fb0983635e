"""`penstock compare`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from penstock.cli.compare import compare
from penstock.errors import UsageError
from penstock.results import write
from tests.results.made import race

FIVE = [100.0, 101, 99, 100, 100]


@pytest.fixture
def pair(tmp_path):
    write(race({"a": FIVE, "b": FIVE}), tmp_path / "before.json")
    write(race({"a": [80.0, 81, 79, 80, 80], "b": FIVE}), tmp_path / "after.json")
    return str(tmp_path / "before.json"), str(tmp_path / "after.json")


def run(*words):
    return CliRunner().invoke(compare, list(words), catch_exceptions=False)


def test_it_shows_what_changed_and_ends_well(pair):
    done = run(*pair)
    assert done.exit_code == 0
    assert "slower" in done.stdout
    assert "same" in done.stdout


@pytest.mark.parametrize(("share", "code"), [("5%", 1), ("0.05", 1), ("30%", 0)])
def test_a_gate_ends_with_code_1_where_a_cell_is_surely_worse(pair, share, code):
    done = run(*pair, "--fail-if-slower", share)
    assert done.exit_code == code
    assert ("slower by more than 5%: a" in done.stderr) == (code == 1)


def test_json_has_the_changes(pair):
    told = json.loads(run(*pair, "--json", "--fail-if-slower", "5%").stdout)
    assert told["slower"] == ["a"]
    assert [change["verdict"] for change in told["changes"]] == ["slower", "same"]


def test_unlike_results_are_refused_and_can_be_allowed(pair, tmp_path):
    write(race({"a": FIVE}, work={"batch_size": 7}), tmp_path / "other.json")
    with pytest.raises(UsageError, match=r"work\.batch_size"):
        run(pair[0], str(tmp_path / "other.json"))
    assert run(pair[0], str(tmp_path / "other.json"), "--allow", "work.batch_size").exit_code == 0


def test_results_without_a_common_cell_and_a_share_that_is_none_are_refused(pair, tmp_path):
    write(race({"c": FIVE}), tmp_path / "other.json")
    assert run(pair[0], str(tmp_path / "other.json")).exit_code == 1
    assert run(*pair, "--fail-if-slower", "much").exit_code == 2
