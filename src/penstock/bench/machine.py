"""The machine and software behind a number, as far as a reader needs it to judge or repeat the run.

Nothing here names the machine or its owner: no host name, no user, no path.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["allowed_cpus", "describe", "versions"]


def allowed_cpus() -> list[int]:
    """List the CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def versions(distributions: tuple[str, ...]) -> dict[str, str]:
    """Look up the installed version of each distribution; "absent" where there is none."""
    return {name: _version(name) for name in distributions}


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "absent"


def describe() -> dict[str, Any]:
    """Describe processor, memory, system and interpreter."""
    model, features = _processor()
    return {
        "processor": model,
        "instruction_sets": features,
        "cpus": os.cpu_count(),
        "cpus_allowed": len(allowed_cpus()),
        "memory_bytes": _memory_bytes(),
        "system": f"{platform.system()} {platform.release()}",
        "virtual": _is_virtual(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load_before": round(os.getloadavg()[0], 2),
        "argv0": Path(sys.argv[0]).name,
    }


def _processor() -> tuple[str, list[str]]:
    text = _read("/proc/cpuinfo")
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    present = set(fields.get("flags", fields.get("Features", "")).split())
    telling = ("sse4_2", "avx2", "avx512f", "avx512bw", "avx512_vbmi", "asimd", "sve")
    return fields.get("model name", platform.processor() or platform.machine()), [f for f in telling if f in present]


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _is_virtual() -> bool:
    return "hypervisor" in _read("/proc/cpuinfo")


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
