"""How numbers and names are said, the same in the terminal and on the page."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.results import Comparison, Result

__all__ = ["binary", "caption", "gigabytes", "interval", "middle", "milliseconds"]


def caption(result: Result) -> str:
    """Say what was measured, in one line."""
    data, work = result.manifest.get("data", {}), result.work
    parts = []
    if "samples" in data:
        parts.append(f"{data.get('name')}: {data['samples']:,} samples, {data.get('bytes', 0) / 1e6:,.0f} MB")
    told = {
        "transforms": "{}",
        "size": "to {} pixels",
        "batch_size": "batch {}",
        "workers": "{} workers on as many CPUs",
    }
    parts += [form.format(work[name]) for name, form in told.items() if name in work]
    parts.append(f"{result.blocks} block{'s' if result.blocks != 1 else ''}")
    return "; ".join(parts)


def middle(result: Result, cell: str, name: str) -> float | None:
    """Give the median of one metric of one cell; None where it was not measured."""
    values = result.values(cell, name).values()
    return median(values) if values else None


def gigabytes(size_bytes: float | None) -> str:
    """Say a size in GB; a dash when it was not measured."""
    return "-" if size_bytes is None else f"{size_bytes / 1e9:.2f}"


def interval(ratio: Comparison) -> str:
    """Say a ratio's interval; a dash where there were too few blocks for one."""
    bounds = ratio.interval
    return "-" if bounds is None else f"{bounds[0]:.2f}-{bounds[1]:.2f}"


def binary(size_bytes: float) -> str:
    """Say a size that is or is near a power of two: 64 KiB."""
    for unit in ("B", "KiB", "MiB"):
        if size_bytes < 1024:
            return f"{size_bytes:.3g} {unit}" if size_bytes < 1000 else f"{size_bytes:.0f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:.3g} GiB"


def milliseconds(seconds: float) -> str:
    """Say a short time, as a number of milliseconds with three digits."""
    return f"{seconds * 1000:.3g}" if seconds < 0.9995 else f"{seconds * 1000:,.0f}"
