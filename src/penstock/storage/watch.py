"""Who is told of every request to an object store, when it is over: a trace, or nobody.

Requests are made in one thread for the whole process, but on behalf of somebody: the thread that began to read. What it
has set here goes along with its requests, as context variables go along with tasks, and with nobody else's.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Watch", "watch"]

Watch: TypeAlias = "Callable[[str, int, float, float], None]"
"""Told the object's name, how many bytes were asked for, and from when to when by `time.monotonic`."""

watch: ContextVar[Watch | None] = ContextVar("watch", default=None)
