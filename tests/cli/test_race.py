"""`penstock race`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from penstock.cli.race import race
from penstock.testing import write_photos


def test_a_small_race_gives_a_table_a_result_and_a_page(tmp_path):
    write_photos(tmp_path / "photos", count=12, classes=2)
    out, html = tmp_path / "race.json", tmp_path / "race.html"
    options = ["--peers", "pytorch", "--blocks", "1", "--epochs", "1", "--workers", "1", "--size", "32"]
    files = ["--out", str(out), "--html", str(html)]
    done = CliRunner().invoke(race, [str(tmp_path / "photos"), *options, *files])
    assert done.exit_code == 0, done.output
    assert "pytorch" in done.stdout
    assert json.loads(out.read_text())["runs"][0]["values"]["samples"] == 12
    assert "PyTorch DataLoader + Pillow" in html.read_text()


def test_it_ends_with_code_1_when_nothing_succeeded_and_json_is_all_it_prints(tmp_path):
    write_photos(tmp_path / "photos", count=2, classes=1)
    done = CliRunner().invoke(
        race, [str(tmp_path / "photos"), "--peers", "dali", "--environments", str(tmp_path), "--rounds", "1", "--json"]
    )
    assert done.exit_code == 1
    assert json.loads(done.stdout)["runs"][0]["status"] == "refused"
