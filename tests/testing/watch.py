"""Waiting for the end of processes."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Watch:
    """Processes whose end can be waited for, whoever's children they are, and whoever takes their numbers."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._descriptors = [os.pidfd_open(pid) for pid in pids]

    def all_end(self, *, seconds: float = 20.0) -> bool:
        """Wait for all; whether they have ended within the time."""
        deadline = time.monotonic() + seconds
        ended = [
            bool(select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0])
            for descriptor in self._descriptors
        ]
        for descriptor in self._descriptors:
            os.close(descriptor)
        return all(ended)
