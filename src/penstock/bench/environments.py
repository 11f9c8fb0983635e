"""Environments of the peers: each library in one of its own, pinned, made by `penstock race --setup PEER`.

Loaders do not agree on versions of what they share, and none of them should decide what penstock is installed with. So
each lives in `.peers/NAME`, made from `peers/pins/NAME.txt`, where every package is pinned. Those that want PyTorch and
torchvision (several GB) stand on torchvision's environment: a .pth file makes its packages importable, and only what
they want besides is installed into theirs. Without an environment of its own a peer is looked for in this one.
"""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENVIRONMENTS", "PEERS_FOLDER", "Environment", "environment_of", "interpreter", "setup"]

PEERS_FOLDER = Path(".peers")
PINS = Path(__file__).with_name("peers") / "pins"
SHARED = {  # peers that live in another's environment
    "ffcv-raw": "ffcv",
    "dali-gpu": "dali",
    "lmdb-sequential": "lmdb",
    "concurrent": "torchvision",
}


@dataclass(frozen=True, slots=True)
class Environment:
    """What an environment wants besides its pins."""

    on: str | None = None  # the environment that it stands on
    built: tuple[str, ...] = ()  # packages without a wheel, compiled last and without isolation
    programs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    debian: str = ""  # what has these programs and libraries


_TORCH = Environment(on="torchvision")
ENVIRONMENTS = {
    "torchvision": Environment(),
    "lmdb": _TORCH,
    "webdataset": _TORCH,
    "streaming": _TORCH,
    "litdata": _TORCH,
    "gulpio2": _TORCH,
    "datasets": _TORCH,
    "ffcv": Environment(
        on="torchvision",
        built=("ffcv",),
        programs=("g++", "pkg-config"),
        debian="g++ pkg-config libopencv-dev libturbojpeg0-dev",
    ),
    "dali": Environment(),
    "spdl": Environment(libraries=("avdevice",), debian="ffmpeg libavdevice59"),
    "tfdata": Environment(),
    "grain": Environment(),
    "turbo": Environment(),
}


def environment_of(peer: str) -> str | None:
    """Name the environment that a peer lives in; None for those that need nothing but penstock's own."""
    name = SHARED.get(peer, peer)
    return name if name in ENVIRONMENTS else None


def interpreter(peer: str, folder: Path | None = None) -> Path | None:
    """Find the interpreter of a peer's environment; None where there is none and this one has to do."""
    name = environment_of(peer)
    if name is None:
        return None
    found = (folder or PEERS_FOLDER) / name / "bin" / "python"
    return found.absolute() if found.exists() else None


def pins(name: str) -> tuple[list[str], list[str]]:
    """Read an environment's pins: those that have wheels, and those to compile after them."""
    lines = (PINS / f"{name}.txt").read_text("utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    built = ENVIRONMENTS[name].built
    last = [line for line in wanted if line.partition("==")[0].lower() in built]
    return [line for line in wanted if line not in last], last


def setup(peer: str, folder: Path | None = None, *, tell: Callable[[str], None] = lambda _: None) -> Path | None:
    """Make the environment of a peer, with that on which it stands; where it is. None: it needs none of its own."""
    name = environment_of(peer)
    return None if name is None else _make(name, folder or PEERS_FOLDER, tell)


def _make(name: str, root: Path, tell: Callable[[str], None]) -> Path:
    wanted, target = ENVIRONMENTS[name], root / name
    if target.joinpath("made").exists():
        return target
    missing = [program for program in wanted.programs if shutil.which(program) is None]
    missing += [library for library in wanted.libraries if ctypes.util.find_library(library) is None]
    if missing:
        what = f"the environment {name} needs something of the system"
        raise UsageError(what, got=f"no {', '.join(missing)}", hint=f"on Debian: apt-get install {wanted.debian}")
    base = _make(wanted.on, root, tell) if wanted.on else None
    tell(f"making {name}")
    venv.create(target, with_pip=True, symlinks=os.name != "nt", clear=True)
    if base is not None:
        _packages(target).joinpath("base.pth").write_text(f"{_packages(base).absolute()}\n")
    wheels, last = pins(name)
    _install(target, wheels)
    if last:
        _install(target, last, "--no-build-isolation")
    target.joinpath("made").write_text("")
    return target


def _packages(target: Path) -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(target), "platbase": str(target)}))


def _install(target: Path, requirements: list[str], *options: str) -> None:
    """Install exactly what is pinned, and nothing that it would want besides."""
    if not requirements:
        return
    pip = [
        str(target / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
    ]
    done = subprocess.run(  # noqa: S603 an interpreter made here, with pins of our own
        [*pip, *options, *requirements],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PIP_NO_INPUT": "1"},
    )
    if done.returncode:
        words = "\n".join(done.stderr.strip().splitlines()[-8:])
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        hint = f"the pins are for Python 3.11 on Linux, x86-64; this is Python {version}"
        raise PenstockError(f"the environment {target.name} cannot be made", got=words, hint=hint)
