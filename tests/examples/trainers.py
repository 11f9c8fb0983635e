"""Running the trainers of `examples/`: in this process, as a process, under torchrun; and reading what they leave."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.torch.training import load_checkpoint, read_journal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

ROOT = Path(__file__).parent.parent.parent
DEADLINE_SECONDS = 120  # of a process, which takes a few seconds
LOOPBACK = "lo" if Path("/sys/class/net/lo").exists() else "lo0"
ENVIRONMENT = {**os.environ, "GLOO_SOCKET_IFNAME": LOOPBACK, "OMP_NUM_THREADS": "1"}


def script(name: str) -> ModuleType:
    """A trainer as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


def command(name: str, arguments: Iterable[str], *, ranks: int = 1) -> list[str]:
    """The command line of a trainer."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"]
    start = [] if ranks == 1 else [*torchrun, "--nproc-per-node", str(ranks)]
    return [sys.executable, *start, str(ROOT / "examples" / f"{name}.py"), *arguments]


def run(name: str, arguments: Iterable[str], *, ranks: int = 1) -> str:
    """Run a trainer as a process to its end; what it said."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command(name, arguments, ranks=ranks), env=ENVIRONMENT, **pipes) as process:
        try:
            said, _ = process.communicate(timeout=DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()  # and not kill: torchrun then ends its processes
            raise
    assert process.returncode == 0, said
    return str(said)


def entries(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of one kind of a run's log."""
    return [one for one in read_journal(folder / "log.jsonl") if one["kind"] == kind]


def losses(folder: Path) -> dict[tuple[int, int], dict[str, float]]:
    """The values of each line of the log, by epoch and step."""
    return {(one["epoch"], one["step"]): one["latest"] for one in entries(folder, "line")}


def weights(folder: Path, kind: str = "model") -> dict[str, list[float]]:
    """Weights as numbers, to be compared bit by bit."""
    state = load_checkpoint(folder / "checkpoint.pth.tar")[kind]
    return {name: value.flatten().tolist() for name, value in state.items()}
