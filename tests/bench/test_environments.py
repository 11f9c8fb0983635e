"""Environments of peers, made for real, of packages that are empty."""

from __future__ import annotations

import subprocess

import pytest

from penstock.bench import environments
from penstock.bench.environments import Environment, interpreter, setup
from penstock.errors import PenstockError, UsageError


@pytest.fixture
def pinned(tmp_path, monkeypatch):
    """Two environments, one on the other, of no packages."""
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins" / "below.txt").write_text("# nothing\n")
    (tmp_path / "pins" / "above.txt").write_text("# nothing\n")
    monkeypatch.setattr(environments, "PINS", tmp_path / "pins")
    monkeypatch.setattr(environments, "ENVIRONMENTS", {"below": Environment(), "above": Environment(on="below")})
    return tmp_path


def test_an_environment_sees_what_is_in_the_one_that_it_stands_on(pinned):
    told = []
    made = setup("above", pinned / "peers", tell=told.append)
    assert told == ["making below", "making above"]
    below = next((pinned / "peers/below/lib").glob("python*/site-packages"))
    (below / "of_below.py").write_text("NAME = 'below'\n")
    python = interpreter("above", pinned / "peers")
    assert python.is_relative_to(made)
    code = "import of_below; print(of_below.NAME)"
    assert subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout == "below\n"
    setup("above", pinned / "peers", tell=told.append)
    assert len(told) == 2, "what is there is not made again"


def test_a_peer_that_needs_none_gets_none(tmp_path):
    assert setup("penstock", tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_what_the_system_lacks_is_said_with_what_to_install(monkeypatch, tmp_path):
    wanted = Environment(programs=("no-such-program",), debian="a-package")
    monkeypatch.setattr(environments, "ENVIRONMENTS", {"x": wanted})
    with pytest.raises(UsageError, match=r"no no-such-program(.|\n)*apt-get install a-package"):
        setup("x", tmp_path)


def test_a_package_that_cannot_be_installed_is_an_error_with_pips_words_and_is_tried_again(pinned):
    (pinned / "pins" / "below.txt").write_text(f"{pinned}/no-such-folder\n")
    for _ in range(2):
        with pytest.raises(PenstockError, match="the environment below cannot be made"):
            setup("below", pinned / "peers")
