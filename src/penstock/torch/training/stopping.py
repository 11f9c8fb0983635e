"""When a run ends early: a signal (SIGTERM, Ctrl-C) or the end of its time. All ranks agree before any of them stops.

A rank that stopped alone would leave the others waiting for its gradients. So a wish to stop is only noted; at certain
steps all ranks compare notes, and stop together if any of them wishes to. A second Ctrl-C is not held back.
"""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Any, final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Stopping"]


@final
class Stopping:
    """Notes wishes to stop while it is entered: `with Stopping(seconds) as stopping`."""

    def __init__(self, budget_seconds: float | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = None if budget_seconds is None else clock() + budget_seconds
        self._before: dict[int, Any] = {}
        self.reason: str | None = None

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            self._before = {one: signal.signal(one, self._note) for one in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: object) -> None:
        if number == signal.SIGINT and self.reason is not None:
            raise KeyboardInterrupt
        self.reason = signal.Signals(number).name

    def agreed(self, device: torch.device | None = None) -> bool:
        """Whether to stop now: whether any rank wishes to. All ranks must ask at the same steps."""
        if self.reason is None and self._end is not None and self._clock() >= self._end:
            self.reason = "the end of the time"
        wishes = self.reason is not None
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            found = torch.tensor([int(wishes)], device=device)
            torch.distributed.all_reduce(found, torch.distributed.ReduceOp.MAX)
            wishes = bool(found.item())
            self.reason = self.reason or ("another rank's wish" if wishes else None)
        return wishes
