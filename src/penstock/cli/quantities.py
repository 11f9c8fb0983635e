"""Quantities as people write and read them: bytes, counts, ratios."""

from __future__ import annotations

import re

import click

__all__ = ["as_bytes", "shown_bytes", "shown_counts"]

_UNITS = {
    "": 1,
    "K": 1000,
    "M": 1000**2,
    "G": 1000**3,
    "T": 1000**4,
    "KI": 1024,
    "MI": 1024**2,
    "GI": 1024**3,
    "TI": 1024**4,
}


def as_bytes(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Read a size: a number, with a unit such as MB (1000 x 1000) or MiB (1024 x 1024). What is left out stays so."""
    if value is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", value.upper())
    if match is None or match[2] not in _UNITS or float(match[1]) * _UNITS[match[2]] < 1:
        raise click.BadParameter(f"{value!r} is no size; write for example 64MiB, 500MB or 1000000")
    return int(float(match[1]) * _UNITS[match[2]])


def shown_bytes(count: float) -> str:
    """Write a size with three digits: 310 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" or abs(count) >= 99.95 else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def shown_counts(counts: dict[str, int]) -> str:
    """Write counts by name: 1,998 tiled, 2 kept."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "nothing"
