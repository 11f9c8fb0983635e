"""How numbers and names are said, the same in the terminal and on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.bench import Ratio

__all__ = ["binary", "caption", "gigabytes", "interval", "is_ceiling", "is_ours", "milliseconds"]

# Not loaders: one decodes and does nothing else, the other is the native core without the loader around it.
CEILINGS = {"turbo", "native"}


def is_ours(peer: str) -> bool:
    """Tell whether a peer is penstock itself."""
    return peer.startswith("penstock")


def is_ceiling(peer: str) -> bool:
    """Tell whether a peer is a bound to compare with and not a loader."""
    return peer.partition("#")[0] in CEILINGS


def caption(result: Mapping[str, Any]) -> str:
    """Say what was raced, in one line."""
    case, data = result["case"], result["data"]
    return (
        f"{case['data']}: {data['samples']:,} images, {data['bytes'] / 1e6:,.0f} MB; "
        f"RandomResizedCrop({case['size']}) and flip, uint8, batch {case['batch_size']}, "
        f"{case['workers']} workers on {case['workers']} CPUs; "
        f"{result['rounds']} rounds of {case['epochs']} epochs"
    )


def gigabytes(size_bytes: float | None) -> str:
    """Say a size in GB; a dash when it was not measured."""
    return "-" if size_bytes is None else f"{size_bytes / 1e9:.2f}"


def interval(ratio: Ratio) -> str:
    """Say a ratio's interval; a dash where there were too few rounds for one."""
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
