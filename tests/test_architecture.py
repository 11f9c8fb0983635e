"""The plan of the house, held: floors, names, sizes, what an import costs, errors that travel."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock import errors

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "penstock"
SOURCES = sorted(
    path
    for folder in ("src", "native", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".pyi", ".cpp", ".hpp") and "__pycache__" not in path.parts
)
BANNED = {"base", "common", "core", "engine", "handler", "helper", "helpers", "manager", "misc", "util", "utils"}


def layers() -> list[set[str]]:
    """The floors, high to low, from the contract that import-linter holds."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    plan = next(contract for contract in contracts if contract["type"] == "layers")
    return [{room.strip(" ()") for room in layer.split("|")} for layer in plan["layers"]]


def floors_drawn_in(text: str) -> list[str]:
    """Rooms in the order in which a drawing names them: lines that begin with a room's folder or file."""
    known = set().union(*layers())
    drawn = re.findall(r"^[ │├└─|]+(\w+)(?:/|\.py)\s", text, flags=re.MULTILINE)
    return [room for room in drawn if room in known]


@pytest.mark.parametrize("place", ["README.md", "the docstring of the package"])
def test_the_drawing_shows_every_room_floor_by_floor(place):
    """Drawn as a block of lines `    room/   what it does` or `    room.py   …`, highest floor first."""
    text = (ROOT / place).read_text() if place.endswith(".md") else penstock.__doc__ or ""
    drawn = floors_drawn_in(text)
    for floor in layers():
        here, drawn = drawn[: len(floor)], drawn[len(floor) :]
        assert set(here) == floor, f"{place} draws {here} where the plan has {sorted(floor)}"
    assert drawn == []


def test_every_room_is_on_the_plan_and_every_room_of_the_plan_exists():
    rooms = {module.name for module in pkgutil.iter_modules([str(PACKAGE)])} - {"_native", "__main__"}
    assert rooms == set().union(*layers())


def test_no_floor_uses_the_one_above_it():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_room_but_two_is_held_to_do_without_torch():
    """`torch` is the one that knows it; in `bench` only the peers do, each loaded by name in a process of its own."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    held = {name for contract in contracts if contract["type"] == "forbidden" for name in contract["source_modules"]}
    bench = {f"penstock.bench.{module.name}" for module in pkgutil.iter_modules([str(PACKAGE / "bench")])}
    rooms = {f"penstock.{room}" for room in set().union(*layers()) - {"torch", "bench"}}
    assert held == rooms | bench - {"penstock.bench.peers"}


def test_the_native_core_has_few_doors():
    """Who may call it is listed in the plan; there, and only there, its import is left unchecked."""
    imports = re.compile(r"^\s*(from|import) penstock\b.*\b_native\b", re.MULTILINE)
    paths = [path for path in PACKAGE.rglob("*.py") if imports.search(path.read_text())]
    doors = {path.relative_to(PACKAGE).as_posix() for path in paths}
    assert doors == {
        "storage/local.py",
        "shard/checks.py",
        "decode/array.py",
        "decode/batch.py",
        "decode/jpeg.py",
        "bench/peers/native_batch.py",
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_no_longer_than_six_hundred_lines_and_says_what_it_is(path):
    lines = path.read_text().splitlines()
    assert len(lines) <= 600
    assert path.stem not in BANNED
    assert not BANNED & set(path.relative_to(ROOT).parent.parts)
    assert lines == [] or lines[0].startswith(('"""', "//", "#")), "the theory of a file stands at its top"


def test_importing_penstock_loads_neither_torch_nor_any_extra():
    code = "import sys, penstock; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "penstock" in loaded
    heavy = {"torch", "torchvision", "webdataset", "matplotlib", "pandas", "scipy", "fsspec", "ray", "av", "lmdb"}
    assert not loaded & heavy
    ours_for_others = {"click", "rich", "IPython", "pytest", "multiprocessing.pool"}
    assert not loaded & ours_for_others, "only the command line needs these"


def modules() -> list[str]:
    """Every module of the package that imports without a foreign library."""
    found = pkgutil.walk_packages([str(PACKAGE)], "penstock.")
    return sorted(
        m.name for m in found if ".bench.peers." not in m.name and not m.name.endswith(("__main__", "_native"))
    )


@pytest.mark.parametrize("name", modules())
def test_what_a_module_promises_is_there_and_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    for promised in getattr(module, "__all__", []):
        value = getattr(module, promised)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{name}.{promised} has no docstring"


ERRORS = [
    value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, errors.PenstockError)
]


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_crosses_processes_whole(kind):
    error = kind(
        "a thing is not as it should be",
        file="shards/000000.tar",
        sample="cat/1",
        byte_range=(512, 1024),
        got="cat",
        expected="dog",
        hint="look again",
    )
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
    for said in ("a thing", "shards/000000.tar", "cat/1", "512-1024", "got cat", "expected dog", "hint: look again"):
        assert said in str(copy)


def test_the_tree_of_errors_is_drawn_as_it_is():
    drawn = re.findall(r"(\w+Error)\b", errors.__doc__ or "")
    assert {kind.__name__ for kind in ERRORS} <= set(drawn)
    assert {kind.__name__ for kind in ERRORS} == set(errors.__all__)


def test_no_error_of_ours_lives_elsewhere():
    """One tree: whoever catches PenstockError catches everything that penstock raises on purpose."""
    for path in PACKAGE.rglob("*.py"):
        if path.name != "errors.py":
            assert not re.findall(r"^class \w+Error\b", path.read_text(), flags=re.MULTILINE), path


def test_the_lock_pins_everything_by_hash_and_names_no_host():
    text = (ROOT / "requirements" / "lock.txt").read_text()
    assert "://" not in text
    packages = re.findall(r"^([\w.-]+)==", text, flags=re.MULTILINE)
    assert text.count(" \\\n    --hash=sha256:") >= len(packages)
    assert not {"torch", "penstock"} & set(packages)
    torch = (ROOT / "requirements" / "torch.txt").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert next(line for line in wanted if line.startswith("torch=")) in torch
    for requirement in wanted:
        name, pin = re.match(r"([\w-]+)(==[\w.]+)?", requirement).groups()
        assert name == "torch" or re.search(rf"^{name}{pin or '=='}", text, flags=re.MULTILINE | re.IGNORECASE), (
            f"{requirement} is not in the lock: run 'make lock'"
        )
