"""`penstock sample`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from penstock.cli.sample import sample
from penstock.errors import UsageError


def test_it_writes_the_images_and_says_so(tmp_path):
    done = CliRunner().invoke(sample, [str(tmp_path / "out"), "--count", "3", "--classes", "2", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    files = list((tmp_path / "out").rglob("*.jpg"))
    assert said["images"] == len(files) == 3
    assert said["bytes"] == sum(path.stat().st_size for path in files)


def test_it_speaks_to_people_too(tmp_path):
    assert "1 images" in CliRunner().invoke(sample, [str(tmp_path / "out"), "--count", "1"]).stdout


def test_it_leaves_a_folder_with_something_in_it_alone(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(UsageError, match="not empty"):
        CliRunner().invoke(sample, [str(tmp_path)], catch_exceptions=False)
