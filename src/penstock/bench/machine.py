"""The machine and software behind a number, as far as a reader needs it to judge or repeat the run.

Nothing here names the machine or its owner: no host name, no user, no path.
"""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["allowed_cpus", "describe", "medium", "versions"]


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
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None,
        "clock_source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource").strip() or None,
        "steal_ticks_before": _steal(),
        "shared_memory_bytes": _shared_memory(),
        "free_threading": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    }


def medium(path: Path) -> dict[str, Any]:
    """Describe the device and the file system that hold a path, without saying where that is."""
    number = path.stat().st_dev
    found: dict[str, Any] = {"file_system": _file_system(os.major(number), os.minor(number))}
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    queue = next((folder for folder in (block / "queue", block.resolve().parent / "queue") if folder.is_dir()), None)
    if queue is not None:
        for name in ("rotational", "scheduler", "read_ahead_kb", "nr_requests"):
            found[name] = _read(str(queue / name)).strip() or None
    return found


def _file_system(major: int, minor: int) -> str | None:
    for line in _read("/proc/self/mountinfo").splitlines():
        fields = line.split()
        if fields[2] == f"{major}:{minor}" and "-" in fields:
            return fields[fields.index("-") + 1]
    return None


def _steal() -> int | None:
    fields = next((line.split() for line in _read("/proc/stat").splitlines() if line.startswith("cpu ")), [])
    return int(fields[8]) if len(fields) > 8 else None


def _shared_memory() -> int | None:
    try:
        found = os.statvfs("/dev/shm")  # noqa: S108 its size, nothing is put there
    except OSError:
        return None
    return found.f_blocks * found.f_frsize


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
