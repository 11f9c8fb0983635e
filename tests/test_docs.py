"""Every code block of the README and of docs/ runs, in order, page by page, in a folder that holds `photos/`.

A `python` block is executed (all blocks of a page share their names). In a `sh` block a line is a `penstock` command,
which is run, or a `make` chore, which must exist. A block that cannot run here is preceded by
`<!-- not run: the reason -->`. Other blocks (`text`, `json`, …) are for reading. Links between pages lead somewhere.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli import main
from tests.images import image_folder

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]*?) -->\s*\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    code: str
    line: int
    reason: str | None  # why it is not run


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text()
    return [
        Block(match["language"], match["code"], text.count("\n", 0, match.start("code")), match["reason"])
        for match in BLOCK.finditer(text)
    ]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


PAGES_THAT_RUN = [page for page in PAGES if any(b.language in ("python", "sh") and not b.reason for b in blocks(page))]


@pytest.mark.parametrize("page", PAGES_THAT_RUN, ids=name)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    image_folder(tmp_path / "photos", classes=3, per_class=8)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if block.reason is not None:
            assert block.reason.strip(), f"{name(page)}:{block.line} gives no reason for not being run"
        elif block.language == "python":
            # Padded with empty lines, so that a traceback shows the line of the page.
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        elif block.language == "sh":
            run_lines(page, block)


def run_lines(page: Path, block: Block) -> None:
    """Run the penstock lines of a shell block; `make` targets are checked to exist."""
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "make":
            targets = re.findall(r"^([\w-]+):.*##", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
            assert {word for word in words[1:] if "=" not in word} <= set(targets)
            continue
        assert words[0] == "penstock", f"{name(page)}:{block.line}: {line!r} is no penstock command"
        result = CliRunner().invoke(main, words[1:])
        assert result.exit_code == 0, f"{name(page)}:{block.line}: {line!r} gave\n{result.output}\n{result.exception!r}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        if "://" not in target and not target.startswith(("#", "mailto:")):
            assert (page.parent / target.partition("#")[0]).exists(), f"{name(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_source_files_that_a_page_names_are_there(page):
    """By their path from the root, or by the end of it."""
    sources = [
        path for folder in ("src", "native", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.*")
    ]
    known = {path.relative_to(ROOT).as_posix() for path in sources}
    for named in re.findall(r"`([\w./-]+\.(?:py|cpp|hpp))`", page.read_text()):
        assert any(path == named or path.endswith(f"/{named}") for path in known), f"{name(page)} names {named}"
