"""benchmarks/rows.py: what it measures, what it leaves out and why, and what it writes; in a repository of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import pytest

ROOT = Path(__file__).parent.parent.parent
# Control groups are looked for in the folder that is named first: here never the system's own.
CALL = """
import sys
from pathlib import Path
import rows
from penstock.bench import groups
groups.ROOT = Path(sys.argv.pop(1))
rows.main()
"""


def git(repository, *arguments):
    config = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    command = ["git", "-C", repository, *identity, *arguments]
    return subprocess.run(command, env={**os.environ, **config}, check=True, capture_output=True, text=True).stdout


# In place of every script that takes minutes: says that it ran, and leaves the result as it is.
SCRIPT = """
import sys
from pathlib import Path
out = Path(sys.argv[-1])
print(Path(__file__).name, "ran", flush=True)
out.write_text(out.read_text())
"""


@pytest.fixture
def repository(tmp_path):
    """The benchmarks and the page that they write into, committed; their results are there."""
    repository = tmp_path / "repository"
    shutil.copytree(ROOT / "benchmarks", repository / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "README.md", repository)
    for name in ("disk", "cache", "starting"):
        (repository / f"benchmarks/{name}.py").write_text(SCRIPT)
    (repository / ".gitignore").write_text("__pycache__/\n")
    git(repository, "init", "--quiet")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "all")
    (tmp_path / "photos").mkdir()
    return repository


def rows(repository, *arguments, groups="/nowhere"):
    command = [sys.executable, "-c", CALL, str(groups), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(repository / "benchmarks")}
    return subprocess.run(command, env=environment, cwd=repository, capture_output=True, text=True, check=False)


def empty_table(page, name):
    before, mark, rest = page.read_text().partition(f"<!-- {name}: rows.py writes them -->\n")
    end = f"\n<!-- end of {name} -->"
    page.write_text(before + mark + end + rest.partition(end)[2])


def test_what_this_machine_cannot_measure_is_left_out_with_the_reason_and_the_tables_are_written(repository, tmp_path):
    (repository / "benchmarks/results/disk.json").unlink()
    empty_table(repository / "benchmarks/README.md", "rows")
    done = rows(repository, str(tmp_path), "--only", "disk", "--only", "cache")
    assert done.returncode == 0, done.stderr
    assert "disk: not measured: it needs control groups, with blkio in /nowhere" in done.stderr
    assert "cache: not measured: it needs control groups, with memory in /nowhere" in done.stderr
    written = (repository / "benchmarks/README.md").read_text()
    assert "| emulated hard disk, cold | torchvision | ≥ 10 | not measured |" in written
    assert "| photos, packed | torchvision | ≥ 4 | 5" in written, "stored results are shown"


def test_the_published_tables_are_those_of_the_stored_results(repository):
    tables = {"README.md": ["rates"], "benchmarks/README.md": ["rows", "memory"]}
    for page, names in tables.items():
        for name in names:
            empty_table(repository / page, name)
    assert rows(repository, "--show").returncode == 0
    for page in tables:
        assert (repository / page).read_text() == (ROOT / page).read_text()


def test_the_table_over_memory_has_a_line_for_each_limit(repository):
    result = json.loads((repository / "benchmarks/results/cache.json").read_text())
    for run in result["runs"]:
        run["limit_mb"] += 5000
    (repository / "benchmarks/results/cache.json").write_text(json.dumps(result))
    assert rows(repository, "--show").returncode == 0
    written = (repository / "benchmarks/README.md").read_text()
    for limit in {run["limit_mb"] for run in result["runs"]}:
        read = {run["way"]: run["read_bytes"] / 1e6 for run in result["runs"] if run["limit_mb"] == limit}
        assert f"\n| {limit:,} | {read['ordinary']:,.0f} | {read['kept']:,.0f} |\n" in written


def test_a_script_is_run_where_what_it_needs_is_there(repository, tmp_path):
    (tmp_path / "blkio").mkdir()
    (tmp_path / "blkio/cgroup.procs").write_text("")
    done = rows(repository, str(tmp_path), "--only", "disk", "--only", "own-disk", "--only", "cache", groups=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == ["disk.py ran", "disk.py ran", ANY], "own-disk needs no control groups"
    assert "cache: not measured" in done.stderr


def test_nothing_is_measured_of_sources_that_no_revision_has(repository, tmp_path):
    (repository / "benchmarks/one_image.py").write_text("changed\n")
    done = rows(repository, str(tmp_path), "--only", "starting")
    assert done.returncode != 0
    assert "benchmarks/one_image.py" in done.stderr
    assert "ran" not in done.stdout


def test_a_result_names_a_clean_revision_whatever_was_written_before_it(repository, tmp_path):
    for name in ("README.md", "benchmarks/README.md", "benchmarks/results/photos.json"):
        page = repository / name
        page.write_text(page.read_text() + "\n")
    done = rows(repository, str(tmp_path), "--only", "starting")
    assert done.returncode == 0, done.stderr
    revision = git(repository, "describe", "--always").strip()
    assert json.loads((repository / "benchmarks/results/starting.json").read_text())["revision"] == revision
