"""How many cores there are to use: not those of the machine, but those this process may run on.

A container, a batch system or `taskset` allows fewer than there are; threads beyond them only take turns.
"""

from __future__ import annotations

import os

__all__ = ["allowed_cores"]


def allowed_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
